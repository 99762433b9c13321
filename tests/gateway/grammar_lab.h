// For tests of grammars: a tokenizer of bytes and a few special tokens, and whole replies against a request's grammar.
#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "corisco/base/strings.h"
#include "gateway/reply_grammar.h"

namespace corisco::gateway::testing {
constexpr TokenId kEndId = 256;

// One token a byte, then the end of a reply, then the special tokens.
class MarkedTokenizer final : public text::Tokenizer {
 public:
  explicit MarkedTokenizer(std::vector<std::string> special = {}) : special_(std::move(special)) {
    special_.insert(special_.begin(), "<end>");
  }
  Result<std::vector<TokenId>> encode(std::string_view text, bool) const override {
    std::vector<TokenId> ids;
    while (!text.empty()) {
      auto id = static_cast<TokenId>(static_cast<unsigned char>(text.front()));
      std::size_t size = 1;
      for (std::size_t i = 0; i < special_.size(); ++i)
        if (starts_with(text, special_[i])) id = kEndId + static_cast<TokenId>(i), size = special_[i].size();
      ids.push_back(id);
      text.remove_prefix(size);
    }
    return ids;
  }
  Result<std::vector<TokenId>> encode_rendering(std::string_view text,
                                                std::span<const text::TextRange>) const override {
    return encode(text, true);
  }
  std::string decode(std::span<const TokenId> ids, bool keep_special) const override {
    std::string text;
    for (const auto id : ids) {
      if (is_special(id)) text += keep_special ? special_[static_cast<std::size_t>(id - kEndId)] : "";
      else text += static_cast<char>(id);
    }
    return text;
  }
  std::string token_bytes(TokenId id) const override {
    return is_special(id) ? std::string() : std::string(1, static_cast<char>(id));
  }
  bool is_special(TokenId id) const override { return id >= kEndId; }
  std::size_t vocabulary_size() const override { return kEndId + special_.size(); }
  std::optional<TokenId> id_of(std::string_view token) const override {
    for (std::size_t i = 0; i < special_.size(); ++i)
      if (special_[i] == token) return kEndId + static_cast<TokenId>(i);
    return std::nullopt;
  }

 private:
  std::vector<std::string> special_;     // the first ends a reply
};

struct GrammarLab {
  explicit GrammarLab(std::vector<std::string> special = {}) : tokenizer(std::move(special)) {}

  MarkedTokenizer tokenizer;
  std::shared_ptr<const text::GrammarCompiler> compiler =
      text::GrammarCompiler::create(tokenizer, std::span(&kEndId, 1)).value();

  std::unique_ptr<text::GrammarMatcher> start(const ChatRequest& request, const ReplySyntax& syntax,
                                              Thinking thinking = Thinking::none) const {
    const auto& family = syntax.tool_parser;
    const auto wanted = wanted_grammar(request, syntax, thinking, tokenizer);
    const auto* error = std::get_if<ApiError>(&wanted);
    EXPECT_EQ(error, nullptr) << family << ": " << (error == nullptr ? "" : error->message);
    if (error != nullptr) return nullptr;
    const auto& source = std::get<WantedGrammar>(wanted).source;
    if (source.empty()) return nullptr;
    const auto grammar = compiler->compile(source);
    EXPECT_TRUE(grammar.ok()) << family << ": " << (grammar.ok() ? "" : grammar.error().message) << source.at(0).text;
    return grammar.ok() ? grammar.value()->start().value() : nullptr;
  }
  std::unique_ptr<text::GrammarMatcher> start(const ChatRequest& request, const std::string& family) const {
    return start(request, ReplySyntax{family, false});
  }
  // Whether it is a whole reply of the grammar; its special tokens are tokens.
  bool is_whole(const ChatRequest& request, const ReplySyntax& syntax, const std::string& reply,
                Thinking thinking = Thinking::none) const {
    const auto matcher = start(request, syntax, thinking);
    if (!matcher) return false;
    const auto ids = tokenizer.encode(reply, true).value();
    for (const auto id : ids)
      if (!matcher->consume(id).ok()) return false;
    return matcher->is_complete() || matcher->may_end().value();
  }
  bool is_whole(const ChatRequest& request, const std::string& family, const std::string& reply,
                Thinking thinking = Thinking::none) const {
    return is_whole(request, ReplySyntax{family, thinking != Thinking::none}, reply, thinking);
  }
};
}  // namespace corisco::gateway::testing
