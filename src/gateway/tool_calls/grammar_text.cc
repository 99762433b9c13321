#include "gateway/tool_calls/grammar_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "corisco/base/json.h"
#include "corisco/base/strings.h"
#include "gateway/tool_calls/argument_values.h"

namespace corisco::gateway::tool_calls {
namespace {
// As part of a /regex/.
std::string regex_escaped(std::string_view text) {
  constexpr std::string_view kSyntax = ".^$*+?()[]{}|\\/";
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (kSyntax.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

// " & ~/.../": none of them occurs.
std::string excluding(const GrammarText::Texts& texts) {
  if (texts.empty()) return {};
  GrammarText::Texts escaped;
  for (const auto& text : texts) escaped.push_back(regex_escaped(text));
  return cat(" & ~/(.|\\n)*(", join(escaped, "|"), ")(.|\\n)*/");
}

// By which the special tokens of all families can be told from what stands around them.
bool begins_special(std::string_view text) {
  return starts_with(text, "<") || starts_with(text, "[") || starts_with(text, "｜");
}
bool ends_special(std::string_view text) {
  return ends_with(text, ">") || ends_with(text, "]") || ends_with(text, "｜");
}
}  // namespace

std::string GrammarText::literal(std::string_view text) { return json_string(text); }

// Empty: there is none.
std::string_view GrammarText::first_special(std::string_view text) const {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!begins_special(text.substr(at))) continue;
    for (std::size_t size = 1; at + size <= text.size(); ++size) {
      const auto token = text.substr(at, size);
      if (!ends_special(token)) continue;
      const auto id = tokenizer_.id_of(token);
      if (id && tokenizer_.is_special(*id)) return token;
    }
  }
  return {};
}

std::string GrammarText::written(std::string_view text) const {
  Texts pieces;
  while (!text.empty()) {
    const auto token = first_special(text);
    const auto before = token.empty() ? text.size() : static_cast<std::size_t>(token.data() - text.data());
    if (before > 0) pieces.push_back(literal(text.substr(0, before)));
    if (!token.empty()) pieces.push_back(cat("<[", *tokenizer_.id_of(token), "]>"));
    text.remove_prefix(before + token.size());
  }
  return join(pieces, " ");
}

// A special token ends a text by itself; one that is spelt out in letters would be read as it.
std::string GrammarText::up_to(std::string_view marker, Texts others) {
  const auto special = first_special(marker);
  if (special.empty()) {
    const auto name = new_name("up_to");
    rules_ += cat(name, "[lazy]: /(.|\\n)*", regex_escaped(marker), "/", excluding(others), "\n");
    return name;
  }
  others.emplace_back(marker);
  const auto before = static_cast<std::size_t>(special.data() - marker.data());
  const auto text = before == 0 ? without(others)
                                : terminal(cat("/(.|\\n)*", regex_escaped(marker.substr(0, before)), "/"), others);
  return cat(text, " ", written(marker.substr(before)));
}

// A terminal is never empty.
std::string GrammarText::without(const Texts& markers) { return cat(terminal("/(.|\\n)+/", markers), "?"); }

std::string GrammarText::terminal(std::string_view expression, const Texts& excluded) {
  const auto name = new_name("TEXT");
  rules_ += cat(name, ": ", expression, excluding(excluded), "\n");
  return name;
}

std::string GrammarText::part(text::GrammarPart::Kind kind, std::string text) {
  const auto is_same = [&](const auto& part) { return part.kind == kind && part.text == text; };
  auto found = std::ranges::find_if(parts_, is_same);
  if (found == parts_.end())
    found = parts_.insert(found, text::GrammarPart{cat("part_", parts_.size()), kind, std::move(text)});
  return cat("@", found->name);
}

std::string GrammarText::schema(const nlohmann::ordered_json& schema, bool is_strict) {
  using Kind = text::GrammarPart::Kind;
  return part(is_strict ? Kind::json_schema : Kind::lenient_json_schema, json_text(schema));
}

std::string GrammarText::choice(const Texts& bodies) { return cat("(", join(bodies, " | "), ")"); }

std::string GrammarText::named(const std::string& body) {
  if (body.empty()) return body;
  auto name = new_name("rule");
  rule(name, body);
  return name;
}

std::string GrammarText::new_name(std::string_view stem) { return cat(stem, "_", ++num_names_); }

void GrammarText::rule(std::string_view name, std::string_view body) { rules_ += cat(name, ": ", body, "\n"); }

void GrammarText::refuse(std::string why) {
  if (refusal_.empty()) refusal_ = std::move(why);
}

text::GrammarSource GrammarText::take() {
  text::GrammarSource source = std::move(parts_);
  source.insert(source.begin(), {"reply", text::GrammarPart::Kind::lark, std::move(rules_)});
  return source;
}
}  // namespace corisco::gateway::tool_calls
