#include "gateway/model_list.h"

#include "corisco/base/json.h"
#include "gateway/json_fields.h"
#include "gateway/wire_format.h"

namespace corisco::gateway {
namespace {
// When the model was made is not known: both APIs then have the epoch.
Json model_entry(const std::string& name, ErrorShape shape) {
  if (shape == ErrorShape::openai)
    return {{"id", name}, {"object", "model"}, {"created", 0}, {"owned_by", "corisco"}};
  return {{"type", "model"}, {"id", name}, {"display_name", name}, {"created_at", "1970-01-01T00:00:00Z"}};
}
}  // namespace

ErrorShape reply_shape_of(RouteKind kind, const Head& head) {
  const bool is_model_list = kind == RouteKind::models || kind == RouteKind::model;
  if (is_model_list && head.field("anthropic-version") != nullptr) return ErrorShape::anthropic;
  return error_shape_of(kind);
}

std::string model_list_json(const std::vector<std::string>& names, ErrorShape shape) {
  Json entries = Json::array();
  for (const auto& name : names) entries.push_back(model_entry(name, shape));
  Json list = Json::object();
  if (shape == ErrorShape::openai) list["object"] = "list";
  list["data"] = std::move(entries);
  if (shape == ErrorShape::anthropic) {
    list["has_more"] = false;            // whatever 'limit' was asked for: the list is short
    list["first_id"] = names.front();
    list["last_id"] = names.back();
  }
  return json_text(list);
}

std::string model_json(const std::string& name, ErrorShape shape) { return json_text(model_entry(name, shape)); }
}  // namespace corisco::gateway
