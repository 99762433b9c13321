#include "config/templates.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "corisco/base/strings.h"

namespace corisco::config {
namespace {
constexpr std::array<std::string_view, 9> kPlaceholders{"base_url",    "api_key",     "rollout_id",
                                                        "attempt",     "task_file",   "reward_file",
                                                        "work_folder", "home_folder", "config_folder"};

bool is_dotted_word(std::string_view name) {
  const auto fits = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.'; };
  return !name.empty() && std::isalpha(static_cast<unsigned char>(name[0])) != 0 &&
         std::all_of(name.begin(), name.end(), fits);
}

bool is_known(std::string_view name) {
  return (starts_with(name, "task.") && name.size() > 5) ||
         std::find(kPlaceholders.begin(), kPlaceholders.end(), name) != kPlaceholders.end();
}
}  // namespace

std::vector<std::string> unknown_placeholders(const std::string& text) {
  std::vector<std::string> unknown;
  for (auto open = text.find('{'); open != std::string::npos; open = text.find('{', open + 1)) {
    if (open + 1 < text.size() && text[open + 1] == '{') {
      ++open;  // {{ is a plain brace
      continue;
    }
    const auto close = text.find('}', open);
    if (close == std::string::npos) break;
    const auto name = std::string_view(text).substr(open + 1, close - open - 1);
    if (is_dotted_word(name) && !is_known(name)) unknown.emplace_back(name);
  }
  return unknown;
}

std::string placeholder_list() {
  std::string list = "{task.KEY}";
  for (const auto name : kPlaceholders) list += cat(", {", name, "}");
  return list;
}
}  // namespace corisco::config
