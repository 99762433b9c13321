#include "app/stop_filter.h"

#include "corisco/text/detokenizer.h"

namespace corisco::app {
namespace {
class StopFilter final : public engine::TokenFilter {
 public:
  StopFilter(std::shared_ptr<const text::Tokenizer> tokenizer, std::vector<std::string> stops, std::uint32_t min_tokens)
      : detokenizer_(std::move(tokenizer)), stops_(std::move(stops)), min_tokens_(min_tokens) {}
  bool accept(TokenId id) override {
    const bool may_stop = ++num_tokens_ > min_tokens_;
    return stops_.push(detokenizer_.push(id), may_stop).is_stopped;
  }

 private:
  text::Detokenizer detokenizer_;
  text::StopStrings stops_;
  const std::uint32_t min_tokens_;
  std::uint32_t num_tokens_ = 0;
};
}  // namespace

std::unique_ptr<engine::TokenFilter> make_stop_filter(std::shared_ptr<const text::Tokenizer> tokenizer,
                                                      std::vector<std::string> stop_strings,
                                                      std::uint32_t min_tokens) {
  return std::make_unique<StopFilter>(std::move(tokenizer), std::move(stop_strings), min_tokens);
}
}  // namespace corisco::app
