// The model for those who must not see torch: load it, ask about it, hand it on.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "corisco/base/result.h"
#include "corisco/config/config.h"

namespace corisco::model {
class Decoder;

// Threads of the calling thread's torch and OpenMP loops; 0: one per core. On the device thread, first.
void use_threads(std::uint32_t threads);
Result<std::shared_ptr<Decoder>> load_decoder(const config::Model& options, bool deterministic);
std::vector<std::int32_t> end_ids(const Decoder& decoder);
std::int64_t num_parameters(Decoder& decoder);
// "avx2, 2 threads, float32".
std::string capability_line(const Decoder& decoder);
// Decoder::set_between_layers.
void set_between_layers(Decoder& decoder, std::function<void()> call);
// Of a pass over 64 tokens, measured now; takes a few such passes.
double seconds_per_token(Decoder& decoder);
// Empty, or why this device cannot be used here and what to do.
std::string device_problem(const std::string& device);
}  // namespace corisco::model
