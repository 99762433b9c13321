#include "gateway/reply_form_fields.h"

#include "corisco/base/json.h"
#include "gateway/request_fields.h"

namespace corisco::gateway {
namespace {
using Kind = ReplyForm::Kind;

void set_form(JsonFields& fields, ReplyForm form, ChatRequest& request) {
  if (request.form.kind != Kind::free)
    fields.refuse(form.field, cat("says what the reply must be, and so does '", request.form.field, "'"));
  request.form = std::move(form);
}

ReplyForm schema_form(const Json& schema, bool is_strict, const std::string& field) {
  return {Kind::json_schema, json_text(schema), {}, is_strict, field};
}

ReplyForm any_object(const std::string& field) {
  const Json schema = {{"type", "object"}};
  return schema_form(schema, true, field);
}

// {"schema": ..., "strict": ...}
void read_schema(JsonFields& fields, const Json& holder, const std::string& field, ChatRequest& request) {
  JsonFields inner(holder);
  const auto* schema = inner.find("schema");
  const bool is_strict = inner.flag("strict", false);
  if (inner.problem()) fields.refuse(cat(field, ".strict"), "must be true or false");
  else if (schema == nullptr || !schema->is_object()) fields.refuse(cat(field, ".schema"), "must be a JSON schema");
  else set_form(fields, schema_form(*schema, is_strict, field), request);
}

void read_format(JsonFields& fields, const Json& format, const std::string& field, bool is_nested,
                 ChatRequest& request) {
  const auto type = format.is_object() ? format.value("type", Json()) : Json();
  if (type == "text") return;
  if (type == "json_object") return set_form(fields, any_object(field), request);
  if (type != "json_schema") {
    fields.refuse(field, "must be of the type text, json_object or json_schema", "unsupported_parameter");
    return;
  }
  const auto* holder = is_nested ? JsonFields(format).find("json_schema") : &format;
  const auto inner = is_nested ? cat(field, ".json_schema") : field;
  if (holder == nullptr || !holder->is_object()) fields.refuse(inner, "must be an object with a schema");
  else read_schema(fields, *holder, inner, request);
}

// vLLM takes schemas as JSON and as text.
void read_guided_json(JsonFields& fields, const Json& value, const std::string& field, ChatRequest& request) {
  const auto schema = value.is_string() ? parse_ordered_json(value.get<std::string>()) : value;
  if (!schema.is_object()) fields.refuse(field, "must be a JSON schema");
  else set_form(fields, schema_form(schema, true, field), request);
}

void read_guided_text(JsonFields& fields, const Json& value, Kind kind, const std::string& field,
                      ChatRequest& request) {
  if (!value.is_string() || value == "") fields.refuse(field, "must be a string, and not empty");
  else set_form(fields, {kind, value.get<std::string>(), {}, true, field}, request);
}

void read_guided_choice(JsonFields& fields, const Json& value, const std::string& field, ChatRequest& request) {
  ReplyForm form{Kind::choice, {}, {}, true, field};
  for (const auto& one : value)
    if (one.is_string() && one != "") form.choices.push_back(one.get<std::string>());
  const bool are_texts = value.is_array() && !value.empty() && form.choices.size() == value.size();
  if (are_texts) set_form(fields, std::move(form), request);
  else fields.refuse(field, "must be a list of strings, and not empty");
}

void read_structured_outputs(JsonFields& fields, const Json& outputs, ChatRequest& request) {
  for (const auto& [name, value] : outputs.items()) {
    if (value.is_null() || value == false) continue;
    const auto field = cat("structured_outputs.", name);
    if (name == "json") read_guided_json(fields, value, field, request);
    else if (name == "regex") read_guided_text(fields, value, Kind::regex, field, request);
    else if (name == "choice") read_guided_choice(fields, value, field, request);
    else if (name == "grammar") read_guided_text(fields, value, Kind::lark, field, request);
    else if (name == "json_object") set_form(fields, any_object(field), request);
    else fields.refuse(field, "is not supported", "unsupported_parameter");
  }
}
}  // namespace

void read_openai_form(JsonFields& fields, ChatRequest& request) {
  if (const auto* format = fields.find("response_format"))
    read_format(fields, *format, "response_format", true, request);
  // An empty value is vLLM's for none.
  const auto given = [&](const char* name) {
    const auto* value = fields.find(name);
    return value == nullptr || is_empty_or_false(*value) ? nullptr : value;
  };
  if (const auto* schema = given("guided_json")) read_guided_json(fields, *schema, "guided_json", request);
  if (const auto* regex = given("guided_regex")) read_guided_text(fields, *regex, Kind::regex, "guided_regex", request);
  if (const auto* choice = given("guided_choice")) read_guided_choice(fields, *choice, "guided_choice", request);
  if (const auto* lark = given("guided_grammar"))
    read_guided_text(fields, *lark, Kind::lark, "guided_grammar", request);
  const auto* outputs = given("structured_outputs");
  if (outputs != nullptr && !outputs->is_object()) fields.refuse("structured_outputs", "must be an object");
  else if (outputs != nullptr) read_structured_outputs(fields, *outputs, request);
}

void read_responses_form(JsonFields& fields, ChatRequest& request) {
  const auto* text = fields.find("text");
  if (text == nullptr) return;
  if (!text->is_object()) {
    fields.refuse("text", "must be an object");
    return;
  }
  if (const auto* format = JsonFields(*text).find("format"))
    read_format(fields, *format, "text.format", false, request);
}

void read_anthropic_form(JsonFields& fields, ChatRequest& request) {
  const auto read = [&](const Json* format, const char* field) {
    if (format == nullptr) return;
    const bool is_schema = format->is_object() && format->value("type", Json()) == "json_schema";
    const auto* schema = is_schema ? JsonFields(*format).find("schema") : nullptr;
    if (!is_schema) fields.refuse(field, "must be of the type json_schema", "unsupported_parameter");
    else if (schema == nullptr || !schema->is_object()) fields.refuse(cat(field, ".schema"), "must be a JSON schema");
    else set_form(fields, schema_form(*schema, true, field), request);
  };
  const auto* config = fields.find("output_config");
  if (config != nullptr && !config->is_object()) fields.refuse("output_config", "must be an object");
  else if (config != nullptr) read(JsonFields(*config).find("format"), "output_config.format");
  read(fields.find("output_format"), "output_format");
}
}  // namespace corisco::gateway
