#include "corisco/text/grammar.h"

#include <algorithm>
#include <list>
#include <mutex>
#include <optional>
#include <utility>

#include "corisco/base/strings.h"
#include "text/rust_call.h"

namespace corisco::text {
namespace {
struct Free {
  void operator()(corisco_text_grammar_vocabulary* vocabulary) const {
    corisco_text_grammar_vocabulary_free(vocabulary);
  }
  void operator()(corisco_text_grammar* grammar) const { corisco_text_grammar_free(grammar); }
  void operator()(corisco_text_matcher* matcher) const { corisco_text_matcher_free(matcher); }
};
template <class T>
using Handle = std::unique_ptr<T, Free>;

class RustMatcher final : public GrammarMatcher {
 public:
  explicit RustMatcher(Handle<corisco_text_matcher> handle) : handle_(std::move(handle)) {}

  Result<std::span<const std::uint32_t>> mask() override {
    corisco_text_mask mask{};
    corisco_text_buffer message{};
    const auto code = corisco_text_matcher_mask(handle_.get(), &mask, &message);
    if (code != CORISCO_TEXT_OK) return rust_error(code, message, "the reply cannot go on in its grammar");
    return std::span<const std::uint32_t>(mask.words, mask.size);
  }
  Result<void> consume(TokenId id) override {
    corisco_text_buffer message{};
    const auto code = corisco_text_matcher_consume(handle_.get(), id, &is_complete_, &message);
    if (code != CORISCO_TEXT_OK) return rust_error(code, message, cat("token ", id, " is not in the reply's grammar"));
    return {};
  }
  bool is_complete() const override { return is_complete_; }
  Result<bool> may_end() override {
    bool may_end = false;
    corisco_text_buffer message{};
    const auto code = corisco_text_matcher_may_end(handle_.get(), &may_end, &message);
    if (code != CORISCO_TEXT_OK) return rust_error(code, message, "the reply has left its grammar");
    return may_end;
  }

 private:
  Handle<corisco_text_matcher> handle_;
  bool is_complete_ = false;
};

class RustGrammar final : public Grammar {
 public:
  explicit RustGrammar(Handle<corisco_text_grammar> handle) : handle_(std::move(handle)) {}

  Result<std::unique_ptr<GrammarMatcher>> start() const override {
    corisco_text_matcher* matcher = nullptr;
    corisco_text_buffer message{};
    const auto code = corisco_text_matcher_new(handle_.get(), &matcher, &message);
    if (code != CORISCO_TEXT_OK) return rust_error(code, message, "could not start a grammar");
    Handle<corisco_text_matcher> handle(matcher);
    return std::unique_ptr<GrammarMatcher>(std::make_unique<RustMatcher>(std::move(handle)));
  }

 private:
  Handle<corisco_text_grammar> handle_;
};

// The newest used grammars, by their sources. Any thread.
class KeptGrammars {
 public:
  std::shared_ptr<const Grammar> find(const GrammarSource& source) {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(kept_, source, &Kept::first);
    if (found == kept_.end()) return nullptr;
    kept_.splice(kept_.begin(), kept_, found);
    return found->second;
  }
  void keep(const GrammarSource& source, std::shared_ptr<const Grammar> grammar) {
    const std::lock_guard lock(mutex_);
    kept_.emplace_front(source, std::move(grammar));
    if (kept_.size() > GrammarCompiler::kKeptMax) kept_.pop_back();
  }

 private:
  using Kept = std::pair<GrammarSource, std::shared_ptr<const Grammar>>;
  std::mutex mutex_;
  std::list<Kept> kept_;                 // the newest used first
};

std::int32_t kind_of(GrammarPart::Kind kind) {
  switch (kind) {
    case GrammarPart::Kind::json_schema: return CORISCO_TEXT_JSON_SCHEMA;
    case GrammarPart::Kind::lenient_json_schema: return CORISCO_TEXT_LENIENT_JSON_SCHEMA;
    case GrammarPart::Kind::regex: return CORISCO_TEXT_REGEX;
    case GrammarPart::Kind::lark: return CORISCO_TEXT_LARK;
  }
  return -1;
}

class RustCompiler final : public GrammarCompiler {
 public:
  explicit RustCompiler(Handle<corisco_text_grammar_vocabulary> handle) : handle_(std::move(handle)) {}

  Result<std::shared_ptr<const Grammar>> compile(const GrammarSource& source) const override {
    if (auto kept = kept_.find(source)) return kept;
    std::vector<corisco_text_grammar_part> parts;
    for (const auto& part : source)
      parts.push_back({kind_of(part.kind), rust_bytes(part.name), part.name.size(), rust_bytes(part.text),
                       part.text.size()});
    corisco_text_grammar* grammar = nullptr;
    corisco_text_buffer message{};
    const auto code = corisco_text_grammar_new(handle_.get(), parts.data(), parts.size(), &grammar, &message);
    if (code != CORISCO_TEXT_OK) return rust_error(code, message, "this grammar cannot be enforced");
    std::shared_ptr<const Grammar> made = std::make_shared<RustGrammar>(Handle<corisco_text_grammar>(grammar));
    kept_.keep(source, made);
    return made;
  }

 private:
  Handle<corisco_text_grammar_vocabulary> handle_;
  mutable KeptGrammars kept_;
};
}  // namespace

Result<std::shared_ptr<const GrammarCompiler>> GrammarCompiler::create(const Tokenizer& tokenizer,
                                                                       std::span<const TokenId> end_ids) {
  std::string bytes;
  std::vector<std::uint32_t> offsets = {0};
  std::vector<std::uint8_t> is_special;
  for (std::size_t i = 0; i < tokenizer.vocabulary_size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    is_special.push_back(tokenizer.is_special(id) ? 1 : 0);
    bytes += tokenizer.is_special(id) ? tokenizer.decode(std::span(&id, 1), true) : tokenizer.token_bytes(id);
    offsets.push_back(static_cast<std::uint32_t>(bytes.size()));
  }
  const corisco_text_vocabulary_parts parts{
      rust_bytes(bytes), bytes.size(), offsets.data(), is_special.data(), is_special.size(),
      end_ids.data(), end_ids.size(), tokenizer.strips_first_space()};
  corisco_text_grammar_vocabulary* vocabulary = nullptr;
  corisco_text_buffer message{};
  const auto code = corisco_text_grammar_vocabulary_new(&parts, &vocabulary, &message);
  if (code != CORISCO_TEXT_OK) return rust_error(code, message, "grammars cannot be enforced with this tokenizer");
  Handle<corisco_text_grammar_vocabulary> handle(vocabulary);
  return std::shared_ptr<const GrammarCompiler>(std::make_shared<RustCompiler>(std::move(handle)));
}
}  // namespace corisco::text
