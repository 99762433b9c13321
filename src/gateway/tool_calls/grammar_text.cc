#include "gateway/tool_calls/grammar_text.h"

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
}  // namespace

bool GrammarText::has_special(std::string_view token) const {
  const auto id = tokenizer_.id_of(token);
  return id && tokenizer_.is_special(*id);
}

std::string GrammarText::literal(std::string_view text) const { return json_string(text); }

std::string GrammarText::marker(std::string_view text) const {
  return has_special(text) ? cat("<[", *tokenizer_.id_of(text), "]>") : literal(text);
}

// A special token ends a text by itself; one that is spelt out in letters would be read as it.
std::string GrammarText::up_to(std::string_view marker) {
  if (has_special(marker)) return cat(without(marker), " ", this->marker(marker));
  const auto name = cat("up_to_", ++num_terminals_);
  rules_ += cat(name, "[lazy]: /(.|\\n)*", regex_escaped(marker), "/\n");
  return name;
}

std::string GrammarText::without(std::string_view marker) { return cat(text_without(marker), "?"); }

std::string GrammarText::text_without(std::string_view marker) {
  const auto name = cat("WITHOUT_", ++num_terminals_);
  const auto escaped = regex_escaped(marker);
  rules_ += cat(name, ": /(.|\\n)+/ & ~/(.|\\n)*", escaped, "(.|\\n)*/\n");
  return name;
}

std::string GrammarText::part(text::GrammarPart::Kind kind, std::string text) {
  parts_.push_back({cat("part_", parts_.size()), kind, std::move(text)});
  return cat("@", parts_.back().name);
}

std::string GrammarText::schema(const nlohmann::ordered_json& schema, bool is_strict) {
  using Kind = text::GrammarPart::Kind;
  return part(is_strict ? Kind::json_schema : Kind::lenient_json_schema, json_text(schema));
}

void GrammarText::rule(std::string_view name, std::string_view body) { rules_ += cat(name, ": ", body, "\n"); }

text::GrammarSource GrammarText::take() {
  text::GrammarSource source = std::move(parts_);
  source.insert(source.begin(), {"reply", text::GrammarPart::Kind::lark, std::move(rules_)});
  return source;
}
}  // namespace corisco::gateway::tool_calls
