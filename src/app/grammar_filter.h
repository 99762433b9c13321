// Keeps a sequence inside its grammar: what may be drawn next, and the end where nothing else can follow.
#pragma once
#include <memory>

#include "corisco/engine/engine.h"
#include "corisco/text/grammar.h"

namespace corisco::app {
// stops: also ends the sequence, wherever the grammar is; null: nothing else does.
std::unique_ptr<engine::TokenFilter> make_grammar_filter(std::shared_ptr<const text::Grammar> grammar,
                                                         std::unique_ptr<engine::TokenFilter> stops);
}  // namespace corisco::app
