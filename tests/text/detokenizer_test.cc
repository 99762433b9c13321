// Properties: however bytes and tokens come, the pieces are whole characters and add up to the
// decoding of everything at once.
#include "corisco/text/detokenizer.h"

#include <gtest/gtest.h>

#include "corisco/base/random.h"
#include "text/golden_files.h"
#include "text/utf8.h"

namespace corisco::text {
namespace {
// A tokenizer whose token i is the byte i; 256 is a control token.
class ByteTokenizer final : public Tokenizer {
 public:
  Result<std::vector<TokenId>> encode(std::string_view text, bool) const override {
    std::vector<TokenId> ids;
    for (const char byte : text) ids.push_back(static_cast<unsigned char>(byte));
    return ids;
  }
  Result<std::vector<TokenId>> encode_rendering(std::string_view text, std::span<const TextRange>) const override {
    return encode(text, true);
  }
  std::string decode(std::span<const TokenId> ids, bool keep_special) const override {
    std::string bytes, text;
    for (const TokenId id : ids) bytes += keep_special && is_special(id) ? "<end>" : token_bytes(id);
    append_all_characters(bytes, text);
    return text;
  }
  std::string token_bytes(TokenId id) const override {
    return is_special(id) ? "" : std::string(1, static_cast<char>(id));
  }
  bool is_special(TokenId id) const override { return id == 256; }
  std::size_t vocabulary_size() const override { return 257; }
  std::optional<TokenId> id_of(std::string_view) const override { return std::nullopt; }
};

std::string replaced(std::string_view bytes) {
  std::string text;
  append_all_characters(bytes, text);
  return text;
}

bool is_whole(std::string_view text) { return replaced(text) == text; }

// Expected values: CPython 3.11, bytes.decode("utf-8", errors="replace").
TEST(Utf8, ReplacesAsPythonDoes) {
  const std::string r = "\uFFFD";
  const std::pair<std::string, std::string> table[] = {
      {"abc", "abc"},
      {"\xE5\xAE\xA2", "客"},
      {"\xE5\xAE", r},                            // unfinished: one for the whole start
      {"\xE5\xAE" "a", r + "a"},
      {"\xE5" "a", r + "a"},
      {"\x80\x80", r + r},                        // nothing starts with 0x80: one each
      {"\xC0\xAF", r + r},                        // a longer form of '/'
      {"\xE0\x80\xAF", r + r + r},
      {"\xED\xA0\x80", r + r + r},                // a surrogate
      {"\xF0\x9F\x98\x80", "😀"},
      {"\xF0\x9F\x98", r},
      {"\xF0\x9F\x98\xF0\x9F\x98\x80", r + "😀"},
      {"\xF4\x90\x80\x80", r + r + r + r},        // above U+10FFFF
      {"\xF5\xFF", r + r},
      {"\xC3\xC3\xA9", r + "é"},
      {"\xF4\x8F\xBF\xBF", "\U0010FFFF"},
  };
  for (const auto& [bytes, text] : table) EXPECT_EQ(replaced(bytes), text);
}

TEST(Utf8, KeepsOnlyTheStartOfACharacter) {
  const std::pair<std::string, std::size_t> table[] = {
      {"ab", 0}, {"a\xC3", 1}, {"\xE5\xAE", 2}, {"\xF0\x9F\x98", 3}, {"\x80", 0}, {"\xE0\x80", 0}};
  for (const auto& [bytes, kept] : table) {
    std::string text;
    EXPECT_EQ(append_certain_characters(bytes, text), bytes.size() - kept) << replaced(bytes);
  }
}

void expect_pieces_add_up(const std::vector<TokenId>& ids, const std::shared_ptr<const Tokenizer>& tokenizer) {
  for (const bool keep_special : {false, true}) {
    Detokenizer detokenizer(tokenizer, keep_special);
    std::string text;
    for (const TokenId id : ids) {
      const std::string piece = detokenizer.push(id);
      ASSERT_TRUE(is_whole(piece));
      text += piece;
    }
    text += detokenizer.finish();
    ASSERT_EQ(text, tokenizer->decode(ids, keep_special));
  }
}

TEST(Detokenizer, RandomBytesAddUp) {
  const auto tokenizer = std::make_shared<ByteTokenizer>();
  const std::string samples[] = {"a",    "é",        "客",   "😀",       "👩‍👩‍👧",
                                 "\xE5", "\xAE", "\xFF", "\xF0\x9F", "\xED\xA0"};
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    std::vector<TokenId> ids;
    for (std::uint64_t i = 0; i < 12; ++i) {
      const double draw = uniform(seed, 2 * i);
      const double which = uniform(seed, 2 * i + 1);
      if (draw < 0.6) {
        const auto& sample = samples[static_cast<std::size_t>(which * std::size(samples))];
        for (const char byte : sample) ids.push_back(static_cast<unsigned char>(byte));
      } else {
        ids.push_back(static_cast<TokenId>(which * 257));
      }
    }
    expect_pieces_add_up(ids, tokenizer);
    if (HasFatalFailure()) FAIL() << "seed " << seed;
  }
}

TEST(Detokenizer, EveryTokenSequenceOfARealAlphabetAddsUp) {
  for (const char* family : {"gpt2", "sentencepiece"}) {
    auto loaded = Tokenizer::load(testing::golden_path(std::string("tiny/") + family));
    ASSERT_TRUE(loaded.ok());
    const auto tokenizer = loaded.value();
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
      std::vector<TokenId> ids;
      for (std::uint64_t i = 0; i < 16; ++i) {
        const auto size = static_cast<double>(tokenizer->vocabulary_size() + 2);  // unknown ids too
        ids.push_back(static_cast<TokenId>(uniform(seed, i) * size));
      }
      expect_pieces_add_up(ids, tokenizer);
      if (HasFatalFailure()) FAIL() << family << " seed " << seed;
    }
  }
}

// Wherever a text is cut in two, the second part goes on from the first.
TEST(Detokenizer, WhatGoesOnKeepsTheBlankAtItsStart) {
  const auto tokenizer = Tokenizer::load(testing::golden_path("tiny/sentencepiece")).value();
  ASSERT_TRUE(tokenizer->strips_first_space());
  const auto ids = tokenizer->encode("a bc d", true).value();
  const std::span<const TokenId> all(ids);
  bool has_blank = false;
  for (std::size_t cut = 1; cut < ids.size(); ++cut) {
    Detokenizer detokenizer(tokenizer, /*keep_special=*/false, /*goes_on=*/true);
    std::string rest;
    for (const TokenId id : all.subspan(cut)) rest += detokenizer.push(id);
    rest += detokenizer.finish();
    has_blank = has_blank || rest.front() == ' ';
    EXPECT_EQ(tokenizer->decode(all.first(cut), false) + rest, "a bc d") << cut;
  }
  EXPECT_TRUE(has_blank);
}

TEST(Detokenizer, ShowsACharacterWithItsLastByte) {
  Detokenizer detokenizer(std::make_shared<ByteTokenizer>());
  EXPECT_EQ(detokenizer.push(0xE5), "");
  EXPECT_EQ(detokenizer.push(256), "");  // a control token between does not break it
  EXPECT_EQ(detokenizer.push(0xAE), "");
  EXPECT_EQ(detokenizer.push(0xA2), "客");
  EXPECT_EQ(detokenizer.push(0xF0), "");
  EXPECT_EQ(detokenizer.finish(), "\uFFFD");
  EXPECT_EQ(detokenizer.finish(), "");
}
}  // namespace
}  // namespace corisco::text
