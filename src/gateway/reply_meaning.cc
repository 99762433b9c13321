#include "gateway/reply_meaning.h"

#include <algorithm>
#include <utility>

#include "corisco/base/json.h"
#include "corisco/base/strings.h"
#include "gateway/reply_reading.h"

namespace corisco::gateway {
namespace {
using Json = nlohmann::json;
using Kind = tool_calls::Event::Kind;
constexpr int kDepthMax = 200;           // of JSON that a model wrote

bool is_blank(std::string_view text) { return trim(text).empty(); }

bool is_same_value(const Json& a, const Json& b, int depth) {
  if (a.is_number() && b.is_number()) return a.get<double>() == b.get<double>();
  if (a.type() != b.type() || a.size() != b.size() || depth > kDepthMax) return false;
  if (a.is_array())
    return std::equal(a.begin(), a.end(), b.begin(),
                      [&](const Json& x, const Json& y) { return is_same_value(x, y, depth + 1); });
  if (!a.is_object()) return a == b;
  for (const auto& [name, value] : a.items()) {
    const auto found = b.find(name);
    if (found == b.end() || !is_same_value(value, *found, depth + 1)) return false;
  }
  return true;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const auto& text : texts) all += text;
  return all;
}

// Events to what they mean.
class Gathering {
 public:
  void take(std::vector<tool_calls::Event> events) {
    for (auto& event : events) take(std::move(event));
  }
  Meaning meaning;

 private:
  void take(tool_calls::Event event) {
    switch (event.kind) {
      case Kind::text:
        if (!is_in_text_) meaning.texts.emplace_back();
        is_in_text_ = true;
        meaning.texts.back() += event.text;
        return;
      case Kind::reasoning: meaning.reasoning += event.text; return;
      case Kind::call_begin:
        is_in_text_ = false;
        meaning.calls.push_back({std::move(event.text), {}});
        return;
      case Kind::arguments: meaning.calls.back().arguments += event.text; return;
      case Kind::call_end:
        if (event.is_broken) meaning.calls.pop_back();   // its text follows as text
        return;
      case Kind::parse_error: return;
    }
  }
  bool is_in_text_ = false;
};

enum class SameCalls { no, yes, otherwise_written };

SameCalls compare_calls(const std::vector<MeantCall>& a, const std::vector<MeantCall>& b) {
  if (a.size() != b.size()) return SameCalls::no;
  bool is_literal = true;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].name != b[i].name) return SameCalls::no;
    if (a[i].arguments == b[i].arguments) continue;
    if (!is_same_json(a[i].arguments, b[i].arguments)) return SameCalls::no;
    is_literal = false;
  }
  return is_literal ? SameCalls::yes : SameCalls::otherwise_written;
}
}  // namespace

const char* to_string(Difference difference) {
  switch (difference) {
    case Difference::whitespace: return "whitespace";
    case Difference::arguments: return "arguments";
    case Difference::empty_thinking: return "empty_thinking";
    case Difference::missing_end: return "missing_end";
    case Difference::kept_reasoning: return "kept_reasoning";
  }
  return "?";
}

Meaning ReplyReader::read(std::string_view turn) const { return read_all({turn}).front(); }

std::vector<Meaning> ReplyReader::read_all(const std::vector<std::string_view>& turns) const {
  auto tools = nlohmann::ordered_json::array();
  if (!tools_json_.empty()) tools = parse_ordered_json(tools_json_);
  std::vector<Meaning> meanings;
  for (const auto turn : turns) meanings.push_back(read_with(tools, turn));
  return meanings;
}

Meaning ReplyReader::read_with(const nlohmann::ordered_json& tools, std::string_view turn) const {
  Gathering gathering;
  const auto tags = reasoning_tags_of(syntax_);
  // Where the generation prompt opens reasoning, a template may leave of old turns' no more than its end.
  const bool has_end_alone = tags && starts_with(trim(turn), tags->close);
  if (has_end_alone) turn = trim(turn).substr(tags->close.size());
  if (const auto parser = make_history_parser(syntax_, tools)) {
    gathering.take(parser->push(turn));
    gathering.take(parser->finish());
  } else {
    gathering.meaning.texts.emplace_back(turn);
  }
  gathering.meaning.has_wrapper = has_end_alone || (tags && starts_with(trim(turn), tags->open));
  return std::move(gathering.meaning);
}

Comparison compare(const Meaning& sampled, const Meaning& returned) {
  const auto calls = compare_calls(sampled.calls, returned.calls);
  const auto text = joined(returned.texts);
  if (calls == SameCalls::no || !is_same_text(sampled.texts, text)) return {};
  Comparison result;
  const auto had = trim(sampled.reasoning), has = trim(returned.reasoning);
  if (had == has) result.likeness = Likeness::same;
  else if (has.empty()) result.likeness = Likeness::without_reasoning;
  else return {};
  auto& differences = result.differences;
  if (calls == SameCalls::otherwise_written) differences.add(Difference::arguments);
  if (had.empty() && sampled.has_wrapper != returned.has_wrapper) differences.add(Difference::empty_thinking);
  const bool is_reasoning_moved = !has.empty() && sampled.reasoning != returned.reasoning;
  if (is_reasoning_moved || joined(sampled.texts) != text) differences.add(Difference::whitespace);
  return result;
}

bool is_same_json(std::string_view a, std::string_view b) {
  if (trim(a) == trim(b)) return true;
  const auto first = parse_json(a), second = parse_json(b);
  return !first.is_discarded() && !second.is_discarded() && is_same_value(first, second, 0);
}

bool is_same_text(const std::vector<std::string>& texts, std::string_view whole) {
  auto rest = trim(whole);
  for (const auto& text : texts) {
    const auto piece = trim(text);
    if (!starts_with(rest, piece)) return false;
    rest = trim(rest.substr(piece.size()));
  }
  return rest.empty();
}

std::size_t stem_bytes(std::string_view prompt_text, const ReplySyntax& syntax) {
  const auto without_blanks = [](std::string_view text) {
    while (!text.empty() && is_blank(text.substr(text.size() - 1))) text.remove_suffix(1);
    return text;
  };
  auto stem = without_blanks(prompt_text);
  const auto tags = reasoning_tags_of(syntax);
  if (!tags) return stem.size();
  if (ends_with(stem, tags->open)) return without_blanks(stem.substr(0, stem.size() - tags->open.size())).size();
  const auto open = stem.rfind(tags->open);
  if (!ends_with(stem, tags->close) || open == std::string_view::npos) return stem.size();
  const auto begin = open + tags->open.size();
  const bool is_empty = is_blank(stem.substr(begin, stem.size() - tags->close.size() - begin));
  return is_empty ? without_blanks(stem.substr(0, open)).size() : stem.size();
}
}  // namespace corisco::gateway
