#include "gateway/token_fields.h"

#include <algorithm>
#include <array>

#include "gateway/openai_fields.h"

namespace corisco::gateway {
namespace {
constexpr const char* kStreamFields[] = {"stream", "stream_options"};
// Of completions alone.
constexpr std::array kUnsupported = {Unsupported{"echo", is_empty_or_false}};

// In vLLM's names, with what of the stream stands beside them.
Json in_one_object(JsonFields& fields, std::span<const Renamed> renamed) {
  Json whole = Json::object();
  if (const auto* params = fields.find("sampling_params")) {
    if (params->is_object()) whole = *params;
    else fields.refuse("sampling_params", "must be an object");
  }
  for (const auto& [theirs, ours] : renamed) {
    whole.erase(ours);
    const auto found = whole.find(theirs);
    if (found == whole.end()) continue;
    Json value = *found;
    whole.erase(theirs);
    whole[ours] = std::move(value);
  }
  for (const auto* name : kStreamFields) {
    whole.erase(name);
    if (const auto* value = fields.find(name)) whole[name] = *value;
  }
  return whole;
}

// The place of a field of that object in the request.
std::string place_of(const std::string& field, std::span<const Renamed> renamed) {
  for (const auto* name : kStreamFields)
    if (starts_with(field, name)) return field;
  const auto found = std::find_if(renamed.begin(), renamed.end(), [&](const auto& one) { return field == one.second; });
  return cat("sampling_params.", found == renamed.end() ? field : std::string(found->first));
}
}  // namespace

void read_prompt_ids(JsonFields& fields, const char* name, ChatRequest& request) {
  request.prompt_ids_name = name;
  const auto* ids = fields.find(name);
  if (ids == nullptr || !ids->is_array() || ids->empty()) {
    fields.refuse(name, "must be a non-empty list of token ids");
    return;
  }
  for (const auto& id : *ids) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() > 0x7fffffffU) {
      fields.refuse(name, "must hold token ids alone");
      return;
    }
    request.prompt_ids.push_back(id.get<TokenId>());
  }
}

void read_own_id(JsonFields& fields, const char* name, ChatRequest& request) {
  constexpr std::size_t kIdBytesMax = 256;
  request.own_id = fields.text(name);
  if (request.own_id.size() > kIdBytesMax) fields.refuse(name, "is too long");
}

void read_sampling_params(JsonFields& fields, std::span<const Renamed> renamed, std::uint32_t max_tokens_min,
                          const ChatLimits& limits, ChatRequest& request) {
  const auto whole = in_one_object(fields, renamed);
  JsonFields params(whole);
  refuse_unsupported_output(params);
  refuse_unsupported(params, kUnsupported);
  if (const auto max = params.integer("max_tokens", max_tokens_min, 0x7fffffff))
    request.max_tokens = static_cast<std::uint32_t>(*max);
  read_openai_output(params, limits, request);
  if (!request.form.field.empty()) request.form.field = place_of(request.form.field, renamed);
  if (!params.problem()) return;
  const auto& problem = *params.problem();
  const auto name = place_of(problem.param, renamed);
  const auto quoted = problem.message.find("' ");
  fields.refuse(name, quoted == std::string::npos ? problem.message : problem.message.substr(quoted + 2), problem.code);
}
}  // namespace corisco::gateway
