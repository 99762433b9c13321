// Ends a sequence inside the decode step as soon as its text holds a stop string. As in vLLM, one that is
// complete within the first min_tokens tokens does not count.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "corisco/engine/engine.h"
#include "corisco/text/tokenizer.h"

namespace corisco::app {
std::unique_ptr<engine::TokenFilter> make_stop_filter(std::shared_ptr<const text::Tokenizer> tokenizer,
                                                      std::vector<std::string> stop_strings,
                                                      std::uint32_t min_tokens = 0);
}  // namespace corisco::app
