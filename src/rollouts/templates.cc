#include "corisco/rollouts/templates.h"

#include <nlohmann/json.hpp>

#include "corisco/base/json.h"
#include "corisco/base/strings.h"
#include "rollouts/presets.h"

namespace corisco::rollouts {
namespace {
using nlohmann::json;

// The field at a dotted path, or null.
const json* field_at(const json& object, std::string_view path) {
  if (!object.is_object()) return nullptr;
  if (const auto whole = object.find(std::string(path)); whole != object.end()) return &*whole;
  const auto dot = path.find('.');
  if (dot == std::string_view::npos) return nullptr;
  const auto outer = object.find(std::string(path.substr(0, dot)));
  return outer == object.end() ? nullptr : field_at(*outer, path.substr(dot + 1));
}

std::string text_of(const json& value) {
  return value.is_string() ? value.get<std::string>() : json_text(value);
}
}  // namespace

struct TemplateFiller::State {
  std::string task_id;
  json task;
  TemplateNames names;

  Error bad(std::string_view text, const std::string& why) const {
    return Error{Code::invalid_argument, cat("task \"", task_id, "\", template \"", text, "\": ", why)};
  }

  Result<std::string> value_of(std::string_view key, std::string_view text) const {
    if (starts_with(key, "task.")) {
      const json* field = field_at(task, key.substr(5));
      if (field == nullptr) return bad(text, cat("the task has no field \"", key.substr(5), "\""));
      return text_of(*field);
    }
    if (const auto found = names.find(std::string(key)); found != names.end()) return found->second;
    std::vector<std::string> known;
    for (const auto& [name, value] : names) known.push_back(name);
    return bad(text, cat("unknown key {", key, "}; known are task.KEY, ", join(known, ", "),
                         "; write {{ and }} for braces"));
  }
};

TemplateFiller::TemplateFiller(const Task& task, TemplateNames names)
    : state_(std::make_unique<State>(
          State{task.id, parse_json(task.json), std::move(names)})) {}
TemplateFiller::~TemplateFiller() = default;

Result<std::string> TemplateFiller::fill(std::string_view text) const {
  std::string filled;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c != '{' && c != '}') {
      filled += c;
    } else if (i + 1 < text.size() && text[i + 1] == c) {
      filled += c;
      ++i;
    } else if (c == '}') {
      return state_->bad(text, "a } without its {; write }} for a brace");
    } else {
      const auto end = text.find('}', i);
      if (end == std::string_view::npos) {
        return state_->bad(text, "a { without its }; write {{ for a brace");
      }
      CORISCO_TRY(const std::string value, state_->value_of(text.substr(i + 1, end - i - 1), text));
      filled += value;
      i = end;
    }
  }
  if (filled.find('\0') != std::string::npos) return state_->bad(text, "a field holds a zero byte");
  return filled;
}

Result<std::vector<std::string>> TemplateFiller::fill_all(
    const std::vector<std::string>& texts) const {
  std::vector<std::string> filled;
  for (const auto& text : texts) {
    CORISCO_TRY(std::string one, fill(text));
    filled.push_back(std::move(one));
  }
  return filled;
}

Result<void> check_templates(const config::Rollouts& rollouts, const Tasks& tasks) {
  const TemplateNames names = {{"base_url", ""},    {"api_key", ""},     {"rollout_id", ""},
                               {"attempt", ""},     {"task_file", ""},   {"reward_file", ""},
                               {"work_folder", ""}, {"home_folder", ""}, {"config_folder", ""}};
  const HarnessForm form = harness_form(rollouts.harness, {});
  for (const auto& task : tasks.all()) {
    const TemplateFiller filler(task, names);
    CORISCO_CHECK(filler.fill_all(form.command));
    CORISCO_CHECK(filler.fill_all(rollouts.reward.command));
    for (const auto& [name, value] : form.env) CORISCO_CHECK(filler.fill(value));
    for (const auto& [name, text] : form.files) CORISCO_CHECK(filler.fill(text));
  }
  return {};
}
}  // namespace corisco::rollouts
