// Grammars over a small vocabulary, against a check of every token by itself; and over SmolLM2's.
#include "corisco/text/grammar.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <regex>
#include <tuple>

#include "corisco/base/json.h"

namespace corisco::text {
namespace {
using Kind = GrammarPart::Kind;

// Bytes of a token, or the name of a special one; the last ends a reply.
class ListTokenizer final : public Tokenizer {
 public:
  explicit ListTokenizer(std::vector<std::string> texts, std::size_t num_special)
      : texts_(std::move(texts)), first_special_(texts_.size() - num_special) {}
  Result<std::vector<TokenId>> encode(std::string_view, bool) const override { return std::vector<TokenId>(); }
  Result<std::vector<TokenId>> encode_rendering(std::string_view, std::span<const TextRange>) const override {
    return std::vector<TokenId>();
  }
  std::string decode(std::span<const TokenId> ids, bool keep_special) const override {
    std::string text;
    for (const auto id : ids)
      if (keep_special || !is_special(id)) text += texts_[static_cast<std::size_t>(id)];
    return text;
  }
  std::string token_bytes(TokenId id) const override {
    return is_special(id) ? std::string() : texts_[static_cast<std::size_t>(id)];
  }
  bool is_special(TokenId id) const override { return static_cast<std::size_t>(id) >= first_special_; }
  std::size_t vocabulary_size() const override { return texts_.size(); }
  std::optional<TokenId> id_of(std::string_view token) const override {
    for (std::size_t i = 0; i < texts_.size(); ++i)
      if (texts_[i] == token) return static_cast<TokenId>(i);
    return std::nullopt;
  }
  bool strips_first_space() const override { return strips; }

  bool strips = false;

 private:
  std::vector<std::string> texts_;
  std::size_t first_special_;
};

bool is_set(std::span<const std::uint32_t> mask, TokenId id) {
  return ((mask[static_cast<std::size_t>(id) / 32] >> (id % 32)) & 1U) != 0;
}

struct Lab {
  explicit Lab(ListTokenizer made) : tokenizer(std::move(made)) {
    const auto end = static_cast<TokenId>(tokenizer.vocabulary_size() - 1);
    auto created = GrammarCompiler::create(tokenizer, std::span(&end, 1));
    EXPECT_TRUE(created.ok()) << (created.ok() ? "" : created.error().message);
    compiler = std::move(created).value();
  }
  std::unique_ptr<GrammarMatcher> start(const GrammarSource& source) const {
    const auto grammar = compiler->compile(source);
    EXPECT_TRUE(grammar.ok()) << (grammar.ok() ? "" : grammar.error().message);
    return grammar.ok() ? grammar.value()->start().value() : nullptr;
  }
  std::string error(const GrammarSource& source) const {
    const auto grammar = compiler->compile(source);
    return grammar.ok() ? "" : grammar.error().message;
  }
  ListTokenizer tokenizer;
  std::shared_ptr<const GrammarCompiler> compiler;
};

ListTokenizer small_vocabulary() {
  return ListTokenizer({"a", "b", "ab", "ba", "aab", "c", "", "1", "12", "-", "\"", "{", "}", ":", " ", "\xff", "x",
                        "<|call|>", "<|end|>"}, 2);
}

// Walks all texts of at most depth tokens, and compares each mask with what a check by whole texts says:
// a token may come if some text of the language begins so.
// ids: what stands already; each text starts anew, since a matcher only goes on.
void walk(const Lab& lab, const GrammarSource& source, const std::vector<TokenId>& ids, const std::string& text,
          int depth, const std::function<bool(const std::string&)>& begins,
          const std::function<bool(const std::string&)>& is_whole) {
  const auto matcher = lab.start(source);
  ASSERT_NE(matcher, nullptr);
  for (const auto id : ids) ASSERT_TRUE(matcher->consume(id).ok());
  if (matcher->is_complete()) {
    EXPECT_TRUE(is_whole(text));
    return;
  }
  const auto mask = matcher->mask();
  ASSERT_TRUE(mask.ok()) << text;
  const auto end = static_cast<TokenId>(lab.tokenizer.vocabulary_size() - 1);
  std::vector<std::uint32_t> words(mask.value().begin(), mask.value().end());
  EXPECT_EQ(words.size(), (lab.tokenizer.vocabulary_size() + 31) / 32);
  EXPECT_EQ(is_set(words, end), is_whole(text)) << text;
  EXPECT_EQ(matcher->may_end().value(), is_whole(text)) << text;
  for (TokenId id = 0; id < end; ++id) {
    const auto bytes = lab.tokenizer.token_bytes(id);
    const bool expected = !bytes.empty() && begins(text + bytes);
    ASSERT_EQ(is_set(words, id), expected) << '"' << text << "\" then token " << id;
    if (!expected || depth == 1) continue;
    auto longer = ids;
    longer.push_back(id);
    walk(lab, source, longer, text + bytes, depth - 1, begins, is_whole);
  }
}

TEST(Grammar, MasksAgreeWithACheckOfEveryToken) {
  const Lab lab(small_vocabulary());
  const GrammarSource source = {{"reply", Kind::regex, "(ab)*c"}};
  const auto begins = [](const std::string& text) { return std::regex_match(text, std::regex("(ab)*(a|c)?")); };
  const auto is_whole = [](const std::string& text) { return std::regex_match(text, std::regex("(ab)*c")); };
  walk(lab, source, {}, "", 5, begins, is_whole);
}

TEST(Grammar, AnIntegerOfASchemaIsOpenToBothEnds) {
  const Lab lab(small_vocabulary());
  const GrammarSource source = {
      {"reply", Kind::json_schema, R"({"type": "integer", "minimum": 1, "maximum": 12})"}};
  const auto begins = [](const std::string& text) { return text == "1" || text == "11" || text == "12"; };
  walk(lab, source, {}, "", 3, begins, begins);
}

TEST(Grammar, ASpecialTokenComesOnlyWhereItIsNamed) {
  const Lab lab(small_vocabulary());
  const auto call = *lab.tokenizer.id_of("<|call|>");
  const auto free = lab.start({{"reply", Kind::lark, "start: /(.|\\n)*/"}});
  const auto mask = free->mask();
  EXPECT_TRUE(is_set(mask.value(), *lab.tokenizer.id_of("x")));
  EXPECT_FALSE(is_set(mask.value(), call));
  EXPECT_FALSE(is_set(mask.value(), *lab.tokenizer.id_of("\xff")));
  const auto named = lab.start({{"reply", Kind::lark, "start: <[17]> @number"}, {"number", Kind::regex, "12?"}});
  ASSERT_TRUE(is_set(named->mask().value(), call));
  EXPECT_FALSE(is_set(named->mask().value(), *lab.tokenizer.id_of("x")));
  ASSERT_TRUE(named->consume(call).ok());
  EXPECT_FALSE(named->is_complete());
  ASSERT_TRUE(named->consume(*lab.tokenizer.id_of("12")).ok());
  EXPECT_TRUE(named->is_complete());
}

TEST(Grammar, ATokenOutsideIsAnErrorThatStays) {
  const Lab lab(small_vocabulary());
  const auto matcher = lab.start({{"reply", Kind::regex, "a+"}});
  EXPECT_FALSE(matcher->consume(*lab.tokenizer.id_of("c")).ok());
  EXPECT_FALSE(matcher->mask().ok());
}

TEST(Grammar, ABlankThatDecodingTakesAwayIsNoText) {
  auto tokenizer = small_vocabulary();
  tokenizer.strips = true;
  const Lab lab(tokenizer);
  const auto matcher = lab.start({{"reply", Kind::regex, "a+"}});
  EXPECT_TRUE(is_set(matcher->mask().value(), *lab.tokenizer.id_of(" ")));
  EXPECT_TRUE(is_set(matcher->mask().value(), *lab.tokenizer.id_of("a")));
  ASSERT_TRUE(matcher->consume(*lab.tokenizer.id_of(" ")).ok());
  EXPECT_FALSE(is_set(matcher->mask().value(), *lab.tokenizer.id_of(" ")));
}

TEST(Grammar, WhatCannotBeEnforcedIsNamed) {
  const Lab lab(small_vocabulary());
  EXPECT_NE(lab.error({{"reply", Kind::json_schema, R"({"type": "object", "if": {}})"}}).find("\"if\""),
            std::string::npos);
  EXPECT_EQ(lab.error({{"reply", Kind::lenient_json_schema, R"({"type": "object", "if": {}})"}}), "");
  EXPECT_NE(lab.error({{"reply", Kind::json_schema, "[1"}}), "");
  EXPECT_NE(lab.error({{"reply", Kind::regex, "(a"}}), "");
  EXPECT_NE(lab.error({{"reply", Kind::lark, "start: nothing"}}), "");
  EXPECT_NE(lab.error({}), "");
}

TEST(Grammar, TheSameSourceIsCompiledOnce) {
  const Lab lab(small_vocabulary());
  const GrammarSource source = {{"reply", Kind::regex, "a+"}};
  const auto first = lab.compiler->compile(source).value();
  EXPECT_EQ(lab.compiler->compile(source).value(), first);
  for (std::size_t i = 0; i < GrammarCompiler::kKeptMax; ++i)
    ASSERT_TRUE(lab.compiler->compile({{"reply", Kind::regex, std::string(i + 1, 'b')}}).ok());
  EXPECT_NE(lab.compiler->compile(source).value(), first);
}

// Draws what the mask allows by a simple rule, so that any mask that is too wide shows.
TEST(Grammar, ARealVocabularyWritesWhatTheSchemaSays) {
  const auto* folder = std::getenv("CORISCO_MODEL");
  if (folder == nullptr) GTEST_SKIP() << "CORISCO_MODEL names no model folder";
  const auto tokenizer = Tokenizer::load(folder).value();
  const auto end = *tokenizer->id_of("<|im_end|>");
  const auto compiler = GrammarCompiler::create(*tokenizer, std::span(&end, 1)).value();
  const auto grammar = compiler->compile({{"reply", Kind::json_schema,
      R"({"type": "object", "properties": {"city": {"enum": ["Paris", "Oslo"]}, "days": {"type": "integer", "minimum": 1,
          "maximum": 9}}, "required": ["city", "days"], "additionalProperties": false})"}});
  ASSERT_TRUE(grammar.ok());
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    const auto matcher = grammar.value()->start().value();
    std::vector<TokenId> ids;
    std::uint32_t state = seed;
    while (!matcher->is_complete() && ids.size() < 2000) {
      std::vector<TokenId> allowed;
      const auto mask = matcher->mask().value();
      for (std::size_t id = 0; id < tokenizer->vocabulary_size(); ++id)
        if (is_set(mask, static_cast<TokenId>(id))) allowed.push_back(static_cast<TokenId>(id));
      ASSERT_FALSE(allowed.empty());
      state = state * 1664525U + 1013904223U;
      ids.push_back(allowed[(state >> 8) % allowed.size()]);
      ASSERT_TRUE(matcher->consume(ids.back()).ok());
    }
    const auto json = parse_json(tokenizer->decode(ids, true));
    ASSERT_TRUE(json.is_object()) << tokenizer->decode(ids, true);
    EXPECT_TRUE(json["city"] == "Paris" || json["city"] == "Oslo");
    EXPECT_TRUE(json["days"] >= 1 && json["days"] <= 9);
    EXPECT_EQ(json.size(), 2U);
  }
}

double milliseconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

struct Cost {
  double compile_ms = 0, start_ms = 0, mask_ms = 0, mask_max_ms = 0;   // mask_ms: the median
};

Cost cost_of(const Tokenizer& tokenizer, const GrammarCompiler& compiler, const GrammarSource& source,
             const std::string& text) {
  Cost cost;
  auto begin = std::chrono::steady_clock::now();
  const auto grammar = compiler.compile(source).value();
  cost.compile_ms = milliseconds_since(begin);
  begin = std::chrono::steady_clock::now();
  const auto matcher = grammar->start().value();
  cost.start_ms = milliseconds_since(begin);
  std::vector<double> masks;
  const auto ids = tokenizer.encode(text, true).value();
  for (const auto id : ids) {
    begin = std::chrono::steady_clock::now();
    const bool is_allowed = is_set(matcher->mask().value(), id);
    masks.push_back(milliseconds_since(begin));
    const auto consumed = matcher->consume(id);
    if (!is_allowed || !consumed.ok()) {
      ADD_FAILURE() << "token " << id << " of " << text << ": " << (consumed.ok() ? "" : consumed.error().message);
      break;
    }
  }
  std::ranges::sort(masks);
  cost.mask_ms = masks[masks.size() / 2];
  cost.mask_max_ms = masks.back();
  return cost;
}

// The figures of docs/constrained-decoding.md; the bounds only say that nothing is out of proportion.
TEST(Grammar, CostsOverARealVocabulary) {
  const auto* folder = std::getenv("CORISCO_MODEL");
  if (folder == nullptr) GTEST_SKIP() << "CORISCO_MODEL names no model folder";
  const auto tokenizer = Tokenizer::load(folder).value();
  const auto end = *tokenizer->id_of("<|im_end|>");
  auto begin = std::chrono::steady_clock::now();
  const auto compiler = GrammarCompiler::create(*tokenizer, std::span(&end, 1)).value();
  std::printf("vocabulary of %zu tokens: %.0f ms\n", tokenizer->vocabulary_size(), milliseconds_since(begin));
  const std::string schema =
      R"({"type": "object", "properties": {"title": {"type": "string"}, "year": {"type": "integer"}, "tags": {"type": )"
      R"("array", "items": {"type": "string"}}}, "required": ["title", "year", "tags"], "additionalProperties": false})";
  const std::string json = R"({"title": "A lightning over the sea", "year": 1987, "tags": ["weather", "old boats"]})";
  const std::string call = "I look.\n<tool_call>\n" + json + "\n</tool_call>\nThat is what there was to see here.";
  const GrammarSource strict = {
      {"reply", Kind::lark, "start: (up_to part \"\\n</tool_call>\")* REST?\nup_to[lazy]: /(.|\\n)*<tool_call>/\n"
                            "part: \"\\n\" @schema\nREST: /(.|\\n)+/ & ~/(.|\\n)*<tool_call>(.|\\n)*/\n"},
      {"schema", Kind::json_schema, schema}};
  const std::vector<std::tuple<const char*, GrammarSource, std::string>> cases = {
      {"a JSON schema", {{"reply", Kind::json_schema, schema}}, json},
      {"any JSON object", {{"reply", Kind::json_schema, R"({"type": "object"})"}}, json},
      {"a pattern", {{"reply", Kind::regex, "[0-9]{4}-[0-9]{2}-[0-9]{2}"}}, "2024-05-17"},
      {"text with strict calls", strict, call}};
  for (const auto& [name, source, text] : cases) {
    const auto cost = cost_of(*tokenizer, *compiler, source, text);
    std::printf("%s: compile %.2f ms, start %.2f ms, mask median %.3f ms, slowest %.2f ms\n", name, cost.compile_ms,
                cost.start_ms, cost.mask_ms, cost.mask_max_ms);
    EXPECT_LT(cost.compile_ms, 5000);
    EXPECT_LT(cost.mask_ms, 50);
  }
}
}  // namespace
}  // namespace corisco::text
