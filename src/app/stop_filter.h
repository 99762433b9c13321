// Ends a sequence inside the decode step as soon as its text holds a stop string.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "corisco/engine/engine.h"
#include "corisco/text/tokenizer.h"

namespace corisco::app {
std::unique_ptr<engine::TokenFilter> make_stop_filter(std::shared_ptr<const text::Tokenizer> tokenizer,
                                                      std::vector<std::string> stop_strings);
}  // namespace corisco::app
