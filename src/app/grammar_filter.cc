#include "app/grammar_filter.h"

#include <optional>
#include <utility>

namespace corisco::app {
namespace {
// The matcher begins at the first draw: on the device thread, since copying a grammar's state takes time. It
// stays with the sequence through a pause and a recompute, neither of which takes tokens back.
class GrammarFilter final : public engine::TokenFilter {
 public:
  GrammarFilter(std::shared_ptr<const text::Grammar> grammar, std::unique_ptr<engine::TokenFilter> stops)
      : grammar_(std::move(grammar)), stops_(std::move(stops)) {}

  Result<std::span<const std::uint32_t>> allowed() override {
    if (failure_) return *failure_;
    if (!matcher_) {
      CORISCO_TRY(matcher_, grammar_->start());
    }
    return matcher_->mask();
  }

  bool accept(TokenId id) override {
    const bool is_stopped = stops_ && stops_->accept(id);
    if (!matcher_) {                     // nobody asked what may come
      failure_ = Error{Code::internal, "a token was drawn that its grammar was not asked about"};
      return is_stopped;
    }
    const auto consumed = matcher_->consume(id);
    if (!consumed.ok()) failure_ = consumed.error();
    return is_stopped || matcher_->is_complete();
  }

 private:
  std::shared_ptr<const text::Grammar> grammar_;
  std::unique_ptr<engine::TokenFilter> stops_;
  std::unique_ptr<text::GrammarMatcher> matcher_;
  std::optional<Error> failure_;         // told at the next draw
};
}  // namespace

std::unique_ptr<engine::TokenFilter> make_grammar_filter(std::shared_ptr<const text::Grammar> grammar,
                                                         std::unique_ptr<engine::TokenFilter> stops) {
  return std::make_unique<GrammarFilter>(std::move(grammar), std::move(stops));
}
}  // namespace corisco::app
