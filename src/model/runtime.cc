#include "corisco/model/runtime.h"

#include <ATen/core/grad_mode.h>

#include "corisco/base/clock.h"
#include "corisco/base/log.h"
#include "corisco/base/strings.h"
#include "corisco/model/decoder.h"

namespace corisco::model {
Result<std::shared_ptr<Decoder>> load_decoder(const config::Model& options, bool deterministic) {
  CORISCO_TRY(auto decoder, Decoder::load(options.path, options, deterministic));
  const auto& unused = decoder->config().unused_sampling;
  if (!unused.empty()) {
    log::info(cat("the model's generation_config.json has ", join(unused, ", "),
                  ": not used here, where sampling is the config's or a request's"));
  }
  return std::shared_ptr<Decoder>(std::move(decoder));
}

std::vector<std::int32_t> end_ids(const Decoder& decoder) { return decoder.config().end_ids; }

std::int64_t num_parameters(Decoder& decoder) {
  std::int64_t count = 0;
  for (const auto& parameter : decoder.parameters()) count += parameter.tensor.numel();
  return count;
}

void set_between_layers(Decoder& decoder, std::function<void()> call) {
  decoder.set_between_layers(std::move(call));
}

double seconds_per_token(Decoder& decoder) {
  constexpr std::int32_t kTokens = 64;
  const at::NoGradGuard no_grad;
  ForwardInput input;
  for (std::int32_t i = 0; i < kTokens; ++i) {
    input.token_ids.push_back(i % decoder.config().vocab_size);
    input.positions.push_back(i);
    input.attention.spans.push_back({0, i + 1});
    input.attention.end_row();
  }
  double seconds = 0;
  for (int pass = 0; pass < 3; ++pass) {  // the first ones fill caches
    const auto begin = real_clock().now();
    (void)decoder.logits(decoder.hidden(input));
    seconds = seconds_between(begin, real_clock().now());
  }
  return seconds / kTokens;
}
}  // namespace corisco::model
