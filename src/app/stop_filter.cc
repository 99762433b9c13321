#include "app/stop_filter.h"

#include "corisco/text/detokenizer.h"

namespace corisco::app {
namespace {
class StopFilter final : public engine::TokenFilter {
 public:
  StopFilter(std::shared_ptr<const text::Tokenizer> tokenizer, std::vector<std::string> stops)
      : detokenizer_(std::move(tokenizer)), stops_(std::move(stops)) {}
  bool accept(TokenId id) override { return stops_.push(detokenizer_.push(id)).is_stopped; }

 private:
  text::Detokenizer detokenizer_;
  text::StopStrings stops_;
};
}  // namespace

std::unique_ptr<engine::TokenFilter> make_stop_filter(std::shared_ptr<const text::Tokenizer> tokenizer,
                                                      std::vector<std::string> stop_strings) {
  return std::make_unique<StopFilter>(std::move(tokenizer), std::move(stop_strings));
}
}  // namespace corisco::app
