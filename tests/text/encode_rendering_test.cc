// A text whose special tokens are partly meant literally; and the short way of encoding against the
// library's own, which a pre-tokenizer with one step more, that does nothing, is sent.
#include <gtest/gtest.h>

#include "corisco/base/random.h"
#include "corisco/base/strings.h"
#include "corisco/text/tokenizer.h"
#include "text/golden_files.h"

namespace corisco::text {
namespace {
using testing::golden_json;
using testing::golden_path;
using testing::golden_text;
using testing::Json;
using testing::ModelFolder;
using TokenizerPointer = std::shared_ptr<const Tokenizer>;
using Ids = std::vector<TokenId>;

TokenizerPointer load(const std::string& folder) {
  auto loaded = Tokenizer::load(folder);
  EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().message);
  return loaded.ok() ? loaded.value() : nullptr;
}

Ids encode(const Tokenizer& tokenizer, std::string_view text, bool with_special) {
  auto ids = tokenizer.encode(text, with_special);
  EXPECT_TRUE(ids.ok()) << (ids.ok() ? "" : ids.error().message);
  return ids.ok() ? std::move(ids).value() : Ids();
}

Ids encode_rendering(const Tokenizer& tokenizer, std::string_view text, const std::vector<TextRange>& literals) {
  auto ids = tokenizer.encode_rendering(text, literals);
  EXPECT_TRUE(ids.ok()) << (ids.ok() ? "" : ids.error().message);
  return ids.ok() ? std::move(ids).value() : Ids();
}

TokenizerPointer by_the_library(const std::string& family) {
  auto json = golden_json(cat("tiny/", family, "/tokenizer.json"));
  const Json nothing = {{"type", "Split"}, {"pattern", {{"String", "\U0010FFFE never"}}},
                        {"behavior", "MergedWithPrevious"}, {"invert", false}};
  auto& steps = json["pre_tokenizer"];
  if (steps["type"] != "Sequence") steps = {{"type", "Sequence"}, {"pretokenizers", Json::array({steps})}};
  auto& list = steps["pretokenizers"];
  list.insert(list.begin(), nothing);
  ModelFolder folder;
  return load(folder.with("tokenizer.json", json_text(json)).path());
}

class Rendering : public ::testing::TestWithParam<const char*> {
 protected:
  TokenizerPointer tokenizer_ = load(golden_path(cat("tiny/", GetParam())));
  std::string special_ = tokenizer_->id_of("<|im_end|>") ? "<|im_end|>" : "</s>";
};

TEST_P(Rendering, WithoutLiteralsAndAllLiteral) {
  const auto text = cat("user\nI'll say ", special_, " twice: ", special_, "\n");
  EXPECT_EQ(encode_rendering(*tokenizer_, text, {}), encode(*tokenizer_, text, true));
  EXPECT_EQ(encode_rendering(*tokenizer_, text, {{0, text.size()}}), encode(*tokenizer_, text, false));
}

// What is literal joins what stands around it as any text does: only true control tokens divide it.
TEST_P(Rendering, LiteralsAreEncodedAsTheirSurroundings) {
  const auto inner = cat("say ", special_, special_, "now");
  const auto text = cat("x", special_, inner, special_, "y");
  const auto begin = 1 + special_.size() + 4;
  Ids expected;
  const auto add = [&](const Ids& ids) { expected.insert(expected.end(), ids.begin(), ids.end()); };
  add(encode(*tokenizer_, "x", false));
  add({*tokenizer_->id_of(special_)});
  add(encode(*tokenizer_, inner, false));
  add({*tokenizer_->id_of(special_)});
  add(encode(*tokenizer_, "y", false));
  const std::vector<TextRange> literals = {{begin, begin + special_.size()},
                                           {begin + special_.size(), begin + 2 * special_.size()}};
  EXPECT_EQ(encode_rendering(*tokenizer_, text, literals), expected);
}

TEST_P(Rendering, RangesOutOfOrderAreRefused) {
  const std::vector<std::vector<TextRange>> all = {{{2, 1}}, {{0, 9}}, {{1, 3}, {2, 4}}};
  for (const auto& wrong : all) {
    const auto result = tokenizer_->encode_rendering("abcdef", wrong);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, Code::invalid_argument);
  }
}

INSTANTIATE_TEST_SUITE_P(Tiny, Rendering,
                         ::testing::Values("gpt2", "smollm2", "llama3", "qwen2", "sentencepiece"),
                         [](const auto& family) { return std::string(family.param); });

// Byte-level tokenizers alone have a short way.
class ShortWay : public ::testing::TestWithParam<const char*> {
 protected:
  void expect_same(std::string_view text) {
    ASSERT_EQ(encode(*short_, text, true), encode(*library_, text, true)) << text.substr(0, 200);
  }

  TokenizerPointer short_ = load(golden_path(cat("tiny/", GetParam())));
  TokenizerPointer library_ = by_the_library(GetParam());
};

TEST_P(ShortWay, FilesOfTheRepository) {
  for (const auto* file : {"smollm2_cases.json", "conversations.json", "../../../README.md",
                           "../../../src/text/rust/src/render.rs", "../tokenizer_test.cc"})
    expect_same(golden_text(file));
}

// Pieces that expressions and normalization treat in special ways, in random order.
TEST_P(ShortWay, RandomText) {
  const std::vector<std::string> pieces = {
      "a", "Word", "'s", "'S", "'\u017f", "'re", "'LL", "'lx", "''", " ", "  ", "\t", "\n", "\r\n", "\n\n ", "1", "23",
      "4567", "\u0663", "\u00bd", "\u2167", "!", "?!", "_", "(\n", "\u00e9", "e\u0301", "\u0301", "\u1100\u1161\u11a8",
      "\uac00\u11a8", "\u212b", "\u0340", "\u0958", "\u5ba2", "\uf900", "\U0001f600", "\U0001f3fd", "\u200d", "\ufe0f",
      "\u00a0", "\u2003", "\u3000", "\u0085", "\u001c", "\x01", "\u01c5", "\U0010ffff", "\ue000", "<|im_end|>",
      "<|im_", "<tool_call>", "<", "q\u0323\u0307", "\u1e9b\u0323"};
  for (std::uint64_t round = 0; round < 400; ++round) {
    std::string text;
    for (std::uint64_t i = 0; i < 60; ++i) text += pieces[hash_words({7, round, i}) % pieces.size()];
    expect_same(text);
  }
}

TEST_P(ShortWay, EveryCharacterOfTheFirstPages) {
  const auto append = [](std::string& text, std::uint32_t code) {
    if (code < 0x80) return text.push_back(static_cast<char>(code));
    if (code < 0x800) {
      text.push_back(static_cast<char>(0xC0 | code >> 6));
    } else {
      text.push_back(static_cast<char>(0xE0 | code >> 12));
      text.push_back(static_cast<char>(0x80 | (code >> 6 & 63)));
    }
    text.push_back(static_cast<char>(0x80 | (code & 63)));
  };
  for (std::uint32_t page = 0; page < 0x3200; page += 256) {
    std::string text;
    for (auto code = page; code < page + 256; ++code) {
      for (const char* before : {"a", " ", "'", "1\n"}) {
        text += before;
        append(text, code);
      }
    }
    expect_same(text);
  }
}

// More words than are remembered, and the first ones again after that.
TEST(WordCache, ForgetsWithoutAnEffect) {
  const auto short_way = load(golden_path("tiny/llama3"));
  const auto library = by_the_library("llama3");
  std::vector<std::string> texts(3);
  std::vector<Ids> expected;
  for (std::uint64_t i = 0; i < 36000; ++i) texts[i / 12000] += cat(" w", i);
  for (const auto& text : texts) expected.push_back(encode(*library, text, true));
  for (const std::size_t i : {0, 1, 2, 0, 2}) EXPECT_EQ(encode(*short_way, texts[i], true), expected[i]) << i;
}

INSTANTIATE_TEST_SUITE_P(Tiny, ShortWay, ::testing::Values("gpt2", "smollm2", "llama3", "qwen2"),
                         [](const auto& family) { return std::string(family.param); });
}  // namespace
}  // namespace corisco::text
