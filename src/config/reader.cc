#include "config/reader.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "config/expand.h"
#include "config/values.h"
#include "corisco/base/strings.h"

namespace corisco::config {
namespace {
int line_at(const YAML::Mark& mark) { return mark.is_null() ? 0 : mark.line + 1; }

const char* shape_of(const YAML::Node& node) {
  if (node.IsMap()) return "a map";
  if (node.IsSequence()) return "a list";
  return node.IsNull() ? "empty" : "a single value";
}
// Counts documents and keeps nothing.
class DocumentCount final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override { ++count_; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
  int count() const { return count_; }

 private:
  int count_ = 0;
};

// YAML::LoadAll would never end on a text like ", a: b", of which it makes empty documents for ever.
bool has_second_document(const std::string& yaml) {
  std::istringstream text(yaml);
  YAML::Parser parser(text);
  DocumentCount documents;
  while (documents.count() < 2 && parser.HandleNextDocument(documents)) {
  }
  return documents.count() > 1;
}
}  // namespace

void Reader::read_document(const std::string& yaml) {
  is_override_ = false;
  try {
    if (has_second_document(yaml)) report(0, "", "the file holds more than one YAML document");
    const auto document = YAML::Load(yaml);
    if (document.IsNull()) return;
    if (!document.IsMap()) {
      return report(1, "", cat("the file must be a map of sections, but is ", shape_of(document)));
    }
    read_section(document, "");
  } catch (const YAML::Exception& failure) {
    report(line_at(failure.mark), "", cat("not YAML: ", failure.msg));
  }
}

void Reader::read_override(const std::string& assignment) {
  is_override_ = true;
  const auto equals = assignment.find('=');
  if (equals == std::string::npos) {
    return report(0, assignment, "needs a value, as in run.updates=10");
  }
  const std::string path = assignment.substr(0, equals);
  const Entry* entry = find(entries_, path);
  if (entry == nullptr) return report_unknown(0, path);
  std::erase_if(problems_, [&](const Problem& problem) { return problem.path == path; });
  try {
    read_entry(*entry, YAML::Load(assignment.substr(equals + 1)), 0);
  } catch (const YAML::Exception& failure) {
    report(0, path, cat("not YAML: ", failure.msg));
  }
}

int Reader::line_of(const std::string& path) const {
  const auto found = lines_.find(path);
  return found == lines_.end() ? 0 : found->second;
}

void Reader::read_section(const YAML::Node& map, const std::string& section) {
  std::set<std::string> seen;
  for (const auto& pair : map) {
    const int line = is_override_ ? 0 : line_at(pair.first.Mark());
    if (!pair.first.IsScalar()) {
      report(line, section, "a key must be a single word");
      continue;
    }
    const std::string name = pair.first.Scalar();
    const std::string path = section.empty() ? name : cat(section, '.', name);
    const Entry* entry = find(entries_, path);
    if (!seen.insert(path).second) {
      report(line, path, cat("is given twice, first on line ", line_of(path)));
    } else if (entry == nullptr) {
      lines_[path] = line;
      report_unknown(line, path);
    } else {
      read_entry(*entry, pair.second, line);
    }
  }
}

void Reader::read_entry(const Entry& entry, const YAML::Node& value, int line) {
  lines_[entry.path] = line;
  if (!entry.is_section()) return read_key(entry, value, line);
  if (value.IsMap()) return read_section(value, entry.path);
  if (!value.IsNull())
    report(line, entry.path, cat("is a section and must hold keys, but is ", shape_of(value)));
}

void Reader::read_key(const Entry& entry, const YAML::Node& value, int line) {
  if (std::holds_alternative<Strings*>(entry.target)) return read_list(entry, value, line);
  if (std::holds_alternative<StringMap*>(entry.target)) return read_map(entry, value, line);
  std::string text;
  if (!read_text(entry, value, line, text)) return;
  if (const auto wrong = assign(entry, text)) report(entry, line, *wrong);
}

void Reader::read_list(const Entry& entry, const YAML::Node& value, int line) {
  if (!value.IsSequence())
    return report(entry, line, cat("must be a list of texts, but is ", shape_of(value)));
  Strings list;
  for (const auto& item : value) {
    std::string text;
    if (read_text(entry, item, is_override_ ? 0 : line_at(item.Mark()), text)) list.push_back(text);
  }
  *std::get<Strings*>(entry.target) = list;
}

void Reader::read_map(const Entry& entry, const YAML::Node& value, int line) {
  if (!value.IsMap()) return report(entry, line, cat("must be a map of texts, but is ", shape_of(value)));
  StringMap map;
  for (const auto& pair : value) {
    const int item_line = is_override_ ? 0 : line_at(pair.first.Mark());
    const std::string name = pair.first.IsScalar() ? pair.first.Scalar() : "";
    std::string text;
    if (name.empty()) {
      report(entry, item_line, "has an entry whose name is no text");
    } else if (read_text(entry, pair.second, item_line, text) && !map.emplace(name, text).second) {
      report(entry, item_line, cat(name, " is given twice"));
    }
  }
  *std::get<StringMap*>(entry.target) = map;
}

// A scalar with its variables replaced; false if that was a problem.
bool Reader::read_text(const Entry& entry, const YAML::Node& value, int line, std::string& text) {
  if (!value.IsScalar()) {
    const char* wanted = value.IsNull() ? "has no value; write \"\" for an empty text" : "";
    report(
        entry, line,
        value.IsNull() ? wanted : cat("must be ", kind_name(entry.target), ", but holds ", shape_of(value)));
    return false;
  }
  auto expanded = expand(value.Scalar());
  if (!expanded.ok()) {
    report(entry, line, expanded.error().message);
    return false;
  }
  text = std::move(expanded).value();
  return true;
}

void Reader::report(int line, const std::string& path, const std::string& message) {
  problems_.push_back({line, path, is_override_ ? cat("--set: ", message) : message});
}

void Reader::report(const Entry& entry, int line, const std::string& message) {
  report(line, entry.path, *entry.rule.help == '\0' ? message : cat(message, " (", entry.rule.help, ")"));
}

void Reader::report_unknown(int line, const std::string& path) {
  const std::string meant = nearest(entries_, path);
  report(line, path,
         meant.empty() ? "is not a key; docs/config.md lists them all"
                       : cat("is not a key; did you mean ", meant, "?"));
}
}  // namespace corisco::config
