#include "app/script.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "corisco/base/files.h"
#include "corisco/base/json.h"
#include "corisco/base/strings.h"

namespace corisco::app {
namespace {
using nlohmann::json;

Error bad(std::string message) { return Error{Code::invalid_argument, std::move(message)}; }

Result<std::vector<std::string>> texts_of(const json& rule, const char* key) {
  std::vector<std::string> texts;
  if (!rule.contains(key)) return texts;
  if (!rule[key].is_array()) return bad(cat('"', key, "\" must be a list of texts"));
  for (const auto& text : rule[key]) {
    if (!text.is_string()) return bad(cat('"', key, "\" must hold texts"));
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

// The tokens of a reply: of its text, or of each of its texts by itself.
Result<std::vector<TokenId>> tokens_of(const json& reply, const text::Tokenizer& tokenizer) {
  const auto pieces = reply.is_string() ? json::array({reply}) : reply;
  if (!pieces.is_array() || !std::all_of(pieces.begin(), pieces.end(), [](const json& piece) { return piece.is_string(); }))
    return bad("\"reply\" must be a text or a list of texts");
  std::vector<TokenId> tokens;
  for (const auto& piece : pieces) {
    CORISCO_TRY(const auto more, tokenizer.encode(piece.get<std::string>(), true));
    tokens.insert(tokens.end(), more.begin(), more.end());
  }
  return tokens;
}
}  // namespace

Result<Script> Script::load(const std::string& file, const text::Tokenizer& tokenizer) {
  CORISCO_TRY(const std::string content, files::read(file));
  Script script;
  const auto lines = split(content, '\n');
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (trim(lines[i]).empty()) continue;
    auto rule = parse(lines[i], tokenizer);
    if (!rule.ok()) return bad(cat(file, ":", i + 1, ": ", rule.error().message));
    script.rules_.push_back(std::move(rule).value());
  }
  if (script.rules_.empty()) return bad(cat(file, " has no rule; a line is {\"if\": [...], \"reply\": \"...\"}"));
  return script;
}

Result<Script::Rule> Script::parse(std::string_view line, const text::Tokenizer& tokenizer) {
  const auto object = parse_json(line);
  if (!object.is_object()) return bad("not a JSON object");
  for (const auto& [key, value] : object.items())
    if (key != "if" && key != "unless" && key != "reply")
      return bad(cat("unknown key \"", key, "\"; known are if, unless and reply"));
  Rule rule;
  CORISCO_TRY(rule.all_of, texts_of(object, "if"));
  CORISCO_TRY(rule.none_of, texts_of(object, "unless"));
  CORISCO_TRY(rule.reply, tokens_of(object.value("reply", json()), tokenizer));
  return rule;
}

const std::vector<TokenId>* Script::reply_to(std::string_view prompt) const {
  const auto is_in_prompt = [prompt](const std::string& text) { return prompt.find(text) != std::string_view::npos; };
  for (const auto& rule : rules_)
    if (std::all_of(rule.all_of.begin(), rule.all_of.end(), is_in_prompt) &&
        std::none_of(rule.none_of.begin(), rule.none_of.end(), is_in_prompt))
      return &rule.reply;
  return nullptr;
}

const std::vector<TokenId>* Script::reply_to_all() const {
  const auto& first = rules_.front();
  return first.all_of.empty() && first.none_of.empty() ? &first.reply : nullptr;
}
}  // namespace corisco::app
