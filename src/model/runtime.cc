#include "corisco/model/runtime.h"

#include "corisco/model/decoder.h"

namespace corisco::model {
Result<std::shared_ptr<Decoder>> load_decoder(const config::Model& options, bool deterministic) {
  CORISCO_TRY(auto decoder, Decoder::load(options.path, options, deterministic));
  return std::shared_ptr<Decoder>(std::move(decoder));
}

std::vector<std::int32_t> end_ids(const Decoder& decoder) { return decoder.config().end_ids; }

std::int64_t num_parameters(Decoder& decoder) {
  std::int64_t count = 0;
  for (const auto& parameter : decoder.parameters()) count += parameter.tensor.numel();
  return count;
}
}  // namespace corisco::model
