#include "gateway/tool_calls/literal_values.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "corisco/base/json.h"
#include "corisco/base/strings.h"
#include "gateway/tool_calls/tool_schemas.h"

namespace corisco::gateway::tool_calls {
namespace {
using Json = nlohmann::ordered_json;

constexpr std::array kNumberKeywords = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"};
constexpr std::array kOtherKeywords = {
    "type", "properties", "required", "additionalProperties", "items", "minItems", "maxItems", "enum", "const",
    "anyOf", "oneOf", "allOf", "$ref", "nullable",
    // These demand nothing.
    "$defs", "definitions", "title", "description", "default", "examples", "$schema", "$id", "$comment",
    "deprecated", "readOnly", "writeOnly"};

template <std::size_t size>
bool has(const std::array<const char*, size>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

struct Member {
  std::string body;
  bool is_required = false;
};

// Optional ones may be left out, with their comma.
std::string in_order(const std::vector<Member>& members, const std::string& comma, GrammarText& out) {
  std::string first, next;               // from a member on: as the first ones, or after others
  for (auto each = members.rbegin(); each != members.rend(); ++each) {
    const auto begin = cat(each->body, " ", next);
    if (each->is_required) first = begin;
    else first = first.empty() ? cat("(", begin, ")?") : cat(begin, " | ", first);
    first = out.named(first);
    const auto after = cat(comma, " ", each->body);
    next = out.named(cat(each->is_required ? after : cat("(", after, ")?"), " ", next));
  }
  return first;
}

std::size_t count_of(const Json& schema, const char* name, std::size_t otherwise) {
  const auto* count = member(schema, name);
  return count != nullptr && count->is_number_unsigned() ? count->get<std::size_t>() : otherwise;
}
}  // namespace

std::string LiteralValues::arguments() {
  check(tool_.parameters);
  return object(tool_.parameters);
}

std::string LiteralValues::members(const Key& key) {
  check(tool_.parameters);
  return members_of(tool_.parameters, key);
}

std::string LiteralValues::value(const Json& schema) {
  if (!schema.is_object()) return any();
  check(schema);
  if (schema.contains("$ref")) return target(schema);
  if (const auto* only = member(schema, "const")) return constant(*only);
  if (const auto* values = member(schema, "enum"); values != nullptr && values->is_array() && !values->empty()) {
    GrammarText::Texts all;
    for (const auto& one : *values) all.push_back(constant(one));
    return out_.choice(all);
  }
  for (const char* name : {"anyOf", "oneOf", "allOf"})
    if (const auto* parts = member(schema, name); parts != nullptr && parts->is_array() && !parts->empty())
      return of_each(*parts);
  return typed(schema);
}

std::string LiteralValues::of_each(const Json& schemas) {
  GrammarText::Texts all;
  for (const auto& one : schemas) all.push_back(value(one));
  return out_.choice(all);
}

std::string LiteralValues::typed(const Json& schema) {
  const auto* type = member(schema, "type");
  GrammarText::Texts all;
  if (type != nullptr && type->is_string()) all.push_back(of_type(type->get<std::string>(), schema));
  if (type != nullptr && type->is_array())
    for (const auto& one : *type)
      if (one.is_string()) all.push_back(of_type(one.get<std::string>(), schema));
  if (all.empty() && schema.contains("properties")) return object(schema);
  if (all.empty()) return schema.contains("items") ? list(schema) : any();
  if (schema.value("nullable", Json()) == true) all.push_back(form_.null_word);
  return out_.choice(all);
}

std::string LiteralValues::of_type(const std::string& type, const Json& schema) {
  if (type == "string") return form_.any_text;
  if (type == "integer" || type == "number") return number(type, schema);
  if (type == "boolean") return cat("(", form_.true_word, " | ", form_.false_word, ")");
  if (type == "null") return form_.null_word;
  if (type == "array") return list(schema);
  return type == "object" ? object(schema) : any();
}

std::string LiteralValues::any() {
  if (!any_.empty()) return any_;
  any_ = out_.new_name("any");
  const auto list = cat(out_.literal("["), " ", several(any_), " ", out_.literal("]"));
  const auto object = cat(out_.literal("{"), " ", several(cat(form_.any_key, " ", any_)), " ", out_.literal("}"));
  out_.rule(any_, out_.choice({form_.any_text, number("number", Json::object()), form_.true_word, form_.false_word,
                               form_.null_word, list, object}));
  return any_;
}

// None, or some.
std::string LiteralValues::several(const std::string& item) const {
  return cat("(", item, " (", form_.comma, " ", item, ")*)?");
}

std::string LiteralValues::constant(const Json& value) {
  if (value.is_string()) return form_.text(value.get<std::string>());
  if (value.is_boolean()) return value.get<bool>() ? form_.true_word : form_.false_word;
  if (value.is_null()) return form_.null_word;
  if (!value.is_structured()) return out_.literal(json_text(value));
  GrammarText::Texts items;
  for (const auto& [key, item] : value.items())
    items.push_back(value.is_object() ? cat(form_.key(key), " ", constant(item)) : constant(item));
  return cat(out_.literal(value.is_object() ? "{" : "["), " ", join(items, cat(" ", form_.comma, " ")), " ",
             out_.literal(value.is_object() ? "}" : "]"));
}

std::string LiteralValues::number(const std::string& type, const Json& schema) {
  Json bounds = {{"type", type}};
  for (const auto* name : kNumberKeywords)
    if (const auto* bound = member(schema, name)) bounds[name] = *bound;
  return out_.schema(bounds, tool_.is_strict);
}

std::string LiteralValues::list(const Json& schema) {
  const auto* items = member(schema, "items");
  const auto item = out_.named(items == nullptr ? any() : value(*items));
  const auto least = count_of(schema, "minItems", 0);
  constexpr std::size_t kNoMost = 1U << 20;
  const auto most = count_of(schema, "maxItems", kNoMost);
  const auto begin = out_.literal("["), end = out_.literal("]");
  if (most == 0) return cat(begin, " ", end);
  const auto more = least > 0 ? least - 1 : 0;
  const auto times = most >= kNoMost ? (more == 0 ? std::string("*") : cat("{", more, ",}"))
                                     : cat("{", more, ",", std::max(most - 1, more), "}");
  const auto all = cat("(", item, " (", form_.comma, " ", item, ")", times, ")");
  return cat(begin, " ", all, least == 0 ? "?" : "", " ", end);
}

std::string LiteralValues::object(const Json& schema) {
  const auto begin = out_.literal("{"), end = out_.literal("}");
  const auto* properties = member(schema, "properties");
  if (properties != nullptr && properties->is_object() && !properties->empty())
    return cat(begin, " ", members_of(schema, form_.key), " ", end);
  const auto* others = member(schema, "additionalProperties");
  if (others != nullptr && *others == false) return cat(begin, " ", end);
  const auto item = others == nullptr ? any() : value(*others);
  return cat(begin, " ", several(out_.named(cat(form_.any_key, " ", item))), " ", end);
}

std::string LiteralValues::members_of(const Json& schema, const Key& key) {
  const auto* properties = member(schema, "properties");
  if (properties == nullptr || !properties->is_object()) return {};
  std::vector<std::string> names;
  for (const auto& [name, property] : properties->items()) names.push_back(name);
  if (form_.sorts_keys) std::ranges::sort(names);
  std::vector<Member> all;
  for (const auto& name : names)
    all.push_back({out_.named(cat(key(name), " ", value((*properties)[name]))), is_required(schema, name)});
  return in_order(all, form_.comma, out_);
}

// What is referred to may refer to itself: its rule has its name before its body.
std::string LiteralValues::target(const Json& schema) {
  const auto* there = referenced(tool_.parameters, schema);
  if (there == nullptr) {
    if (tool_.is_strict) out_.refuse("a \"$ref\" of a schema leads nowhere");
    return any();
  }
  auto& name = targets_[there];
  if (!name.empty()) return name;
  name = out_.new_name("target");
  out_.rule(name, value(*there));
  return name;
}

void LiteralValues::check(const Json& schema) {
  if (!tool_.is_strict || !schema.is_object()) return;
  for (const auto& [keyword, demand] : schema.items()) {
    const bool is_known = has(kNumberKeywords, keyword) || has(kOtherKeywords, keyword);
    const bool is_union = keyword == "allOf" && demand.size() > 1;
    if (!is_known || is_union)
      out_.refuse(cat("\"", keyword, "\" of a schema cannot be enforced in calls as ", form_.family, " writes them"));
  }
}
}  // namespace corisco::gateway::tool_calls
