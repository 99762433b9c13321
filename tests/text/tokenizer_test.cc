// Ids and texts against those of Hugging Face's own tokenizers package (golden files).
#include "corisco/text/tokenizer.h"

#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <thread>

#include "corisco/base/strings.h"
#include "text/golden_files.h"

namespace corisco::text {
namespace {
using testing::golden_json;
using testing::golden_path;
using testing::Json;
using testing::ModelFolder;
using TokenizerPointer = std::shared_ptr<const Tokenizer>;

TokenizerPointer load(const std::string& folder) {
  auto loaded = Tokenizer::load(folder);
  EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().message);
  return loaded.ok() ? loaded.value() : nullptr;
}

TokenizerPointer tiny(const std::string& family) { return load(golden_path("tiny/" + family)); }

std::vector<TokenId> encode(const Tokenizer& tokenizer, std::string_view text, bool with_special) {
  auto ids = tokenizer.encode(text, with_special);
  EXPECT_TRUE(ids.ok()) << (ids.ok() ? "" : ids.error().message);
  return ids.ok() ? std::move(ids).value() : std::vector<TokenId>();
}

void expect_cases(const Tokenizer& tokenizer, const Json& cases) {
  ASSERT_GT(cases.size(), 40U);
  for (const Json& item : cases) {
    const auto text = item["text"].get<std::string>();
    SCOPED_TRACE(cat("text: ", text, ", with_special ", item["with_special"].get<bool>()));
    const auto ids = encode(tokenizer, text, item["with_special"].get<bool>());
    EXPECT_EQ(ids, item["ids"].get<std::vector<TokenId>>());
    EXPECT_EQ(tokenizer.decode(ids, true), item["kept"].get<std::string>());
    EXPECT_EQ(tokenizer.decode(ids, false), item["skipped"].get<std::string>());
  }
}

class Family : public ::testing::TestWithParam<const char*> {};

TEST_P(Family, EncodesAndDecodesAsTheReference) {
  const auto tokenizer = tiny(GetParam());
  ASSERT_TRUE(tokenizer);
  const auto cases = golden_json(cat("tiny/", GetParam(), "/cases.json"));
  for (int turn = 0; turn < 2; ++turn) expect_cases(*tokenizer, cases);   // the second from what it remembers
}

TEST_P(Family, TokenBytesOfAllTokensGiveTheText) {
  const auto tokenizer = tiny(GetParam());
  ASSERT_TRUE(tokenizer);
  const std::string text = "naïve 客a😀 def f(x):\n\treturn 12";
  std::string bytes;
  for (const TokenId id : encode(*tokenizer, text, false)) bytes += tokenizer->token_bytes(id);
  EXPECT_EQ(bytes, (tokenizer->strips_first_space() ? " " : "") + text);
}

INSTANTIATE_TEST_SUITE_P(Tiny, Family,
                         ::testing::Values("gpt2", "smollm2", "llama3", "qwen2", "sentencepiece"),
                         [](const auto& family) { return std::string(family.param); });

// The real SmolLM2 tokenizer is too large for the tree; it is tested where the model lies.
TEST(Tokenizer, RealSmolLm2IfThere) {
  const char* folder = std::getenv("CORISCO_MODEL");
  if (folder == nullptr) GTEST_SKIP() << "set CORISCO_MODEL to the converted model's folder";
  const auto tokenizer = load(folder);
  ASSERT_TRUE(tokenizer);
  EXPECT_EQ(tokenizer->vocabulary_size(), 49152U);
  expect_cases(*tokenizer, golden_json("smollm2_cases.json"));
}

TEST(Tokenizer, ControlTokensAreNamesAndNeverText) {
  const auto tokenizer = tiny("smollm2");
  ASSERT_TRUE(tokenizer);
  const auto end = tokenizer->id_of("<|im_end|>");
  ASSERT_EQ(end, 2);
  EXPECT_TRUE(tokenizer->is_special(*end));
  EXPECT_EQ(tokenizer->token_bytes(*end), "");
  EXPECT_EQ(encode(*tokenizer, "<|im_end|>", true), std::vector<TokenId>{2});
  const auto plain = encode(*tokenizer, "<|im_end|>", false);
  EXPECT_GT(plain.size(), 1U);
  for (const TokenId id : plain) EXPECT_FALSE(tokenizer->is_special(id));
  EXPECT_EQ(tokenizer->decode(plain, false), "<|im_end|>");
}

TEST(Tokenizer, AddedTokensThatAreNotSpecialAreTextInBothModes) {
  const auto tokenizer = tiny("qwen2");
  ASSERT_TRUE(tokenizer);
  const auto id = tokenizer->id_of("<tool_call>");
  ASSERT_TRUE(id.has_value());
  EXPECT_FALSE(tokenizer->is_special(*id));
  EXPECT_EQ(encode(*tokenizer, "<tool_call>", false), std::vector<TokenId>{*id});
  EXPECT_EQ(tokenizer->token_bytes(*id), "<tool_call>");
}

// What a tokenizer adds to a text of its own, as a post-processor says it.
TEST(Tokenizer, OwnPrefixIsWhatStandsBeforeAText) {
  EXPECT_TRUE(tiny("smollm2")->own_prefix().empty());
  auto json = golden_json("tiny/smollm2/tokenizer.json");
  const auto begin = *tiny("smollm2")->id_of("<|im_start|>");
  json["post_processor"] = {
      {"type", "TemplateProcessing"},
      {"single", {{{"SpecialToken", {{"id", "<|im_start|>"}, {"type_id", 0}}}}, {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}}},
      {"pair", {{{"Sequence", {{"id", "A"}, {"type_id", 0}}}}, {{"Sequence", {{"id", "B"}, {"type_id", 1}}}}}},
      {"special_tokens",
       {{"<|im_start|>", {{"id", "<|im_start|>"}, {"ids", {begin}}, {"tokens", {"<|im_start|>"}}}}}}};
  ModelFolder folder;
  const auto tokenizer = load(folder.with("tokenizer.json", json_text(json)).path());
  ASSERT_TRUE(tokenizer);
  EXPECT_EQ(tokenizer->own_prefix(), std::vector<TokenId>{begin});
  EXPECT_EQ(encode(*tokenizer, "a", true), encode(*tiny("smollm2"), "a", true));   // added by nobody but who asks
}

TEST(Tokenizer, VocabularyHasEveryIdAndNothingElse) {
  const auto tokenizer = tiny("gpt2");
  ASSERT_TRUE(tokenizer);
  const auto size = static_cast<TokenId>(tokenizer->vocabulary_size());
  EXPECT_EQ(size, *tokenizer->id_of("<tool_call>") + 1);  // added last
  EXPECT_EQ(tokenizer->id_of("no such token"), std::nullopt);
  EXPECT_EQ(tokenizer->id_of("\xFF"), std::nullopt);
  EXPECT_EQ(tokenizer->token_bytes(size), "");
  EXPECT_EQ(tokenizer->token_bytes(-1), "");
  EXPECT_FALSE(tokenizer->is_special(size));
  EXPECT_EQ(tokenizer->decode(std::vector<TokenId>{size, -5}, true), "");
}

TEST(Tokenizer, BrokenCharactersDecodeAsPythonReplacesThem) {
  const auto tokenizer = tiny("gpt2");
  ASSERT_TRUE(tokenizer);
  // In GPT-2's alphabet the byte 0xE4 is written as U+00E4 and 0xBD as U+00BD.
  const TokenId lead = *tokenizer->id_of("\u00E4");
  const TokenId middle = *tokenizer->id_of("\u00BD");
  const TokenId letter = *tokenizer->id_of("a");
  EXPECT_EQ(tokenizer->token_bytes(lead), "\xE4");
  EXPECT_EQ(tokenizer->decode(std::vector<TokenId>{lead, middle}, false), "\uFFFD");
  EXPECT_EQ(tokenizer->decode(std::vector<TokenId>{lead, middle, letter}, false), "\uFFFDa");
  EXPECT_EQ(tokenizer->decode(std::vector<TokenId>{middle, middle}, false), "\uFFFD\uFFFD");
}

TEST(Tokenizer, TextThatIsNotUtf8IsRefused) {
  const auto tokenizer = tiny("gpt2");
  ASSERT_TRUE(tokenizer);
  const auto result = tokenizer->encode("ab\xFF", true);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::invalid_argument);
  EXPECT_NE(result.error().message.find("byte 2"), std::string::npos) << result.error().message;
}

TEST(Tokenizer, MissingAndBrokenFilesAreNamedWithARemedy) {
  const auto expect_error = [](const std::string& folder, Code code, const std::string& remedy) {
    const auto loaded = Tokenizer::load(folder);
    ASSERT_FALSE(loaded.ok());
    EXPECT_EQ(loaded.error().code, code);
    EXPECT_NE(loaded.error().message.find("tokenizer.json"), std::string::npos) << loaded.error().message;
    EXPECT_NE(loaded.error().message.find(remedy), std::string::npos) << loaded.error().message;
  };
  ModelFolder missing;
  expect_error(missing.path(), Code::not_found, "model.path");
  ModelFolder broken;
  expect_error(broken.with("tokenizer.json", "{\"model\": ").path(), Code::invalid_argument, "fetch");
  ModelFolder words;
  words.with("tokenizer.json",
             R"({"version": "1.0", "added_tokens": [], "decoder": {"type": "WordPiece", "prefix": "##",
                 "cleanup": true}, "model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}})");
  expect_error(words.path(), Code::invalid_argument, "WordPiece");
}

double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The least CPU time of several runs.
double seconds_to_encode(const Tokenizer& tokenizer, const std::string& text) {
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const double before = thread_seconds();
    EXPECT_GT(encode(tokenizer, text, true).size(), 25U);
    best = std::min(best, thread_seconds() - before);
  }
  return best;
}

// Texts up to 16 kB are encoded on the thread that reads from the network: the time must grow with
// the length, not with its square, also for long runs of one character (four times the text takes
// 4 times as long, or 16 times if something is quadratic).
TEST_P(Family, TimeGrowsWithTheLength) {
  const auto tokenizer = tiny(GetParam());
  ASSERT_TRUE(tokenizer);
  std::string prose;
  while (prose.size() < 16384)
    prose += cat("It's line ", prose.size(), ": Größe, 客单价,\t{\"a\": [1.5]}\n\n  ");
  for (const std::string& text : {prose, std::string(16384, ' ') + "x", std::string(16384, 'x'),
                                  std::string(16384, '\n')}) {
    const double quarter = seconds_to_encode(*tokenizer, text.substr(0, text.size() / 4));
    EXPECT_LT(seconds_to_encode(*tokenizer, text), 10 * quarter + 0.001) << text.substr(0, 10);
  }
}

TEST(Tokenizer, RemembersMessagesWhateverLiesAroundThem) {
  const auto tokenizer = tiny("llama3");
  ASSERT_TRUE(tokenizer);
  const std::string message = "The capital of France is Paris, isn't it? 客单价 12345";
  const auto alone = encode(*tokenizer, message, true);
  const auto end = encode(*tokenizer, "<|im_end|>", true);
  ASSERT_EQ(end.size(), 1U);
  const auto twice = encode(*tokenizer, cat(message, "<|im_end|>", message), true);
  std::vector<TokenId> expected = alone;
  expected.push_back(end[0]);
  expected.insert(expected.end(), alone.begin(), alone.end());
  EXPECT_EQ(twice, expected);
  EXPECT_GT(encode(*tokenizer, cat(message, "<|im_end|>"), false).size(), alone.size() + 1);
}

TEST(Tokenizer, LongMessagesBeginTheMemoryAnew) {
  const auto tokenizer = tiny("llama3");
  ASSERT_TRUE(tokenizer);
  const std::string text(std::size_t{1} << 20, 'x');
  const auto expected = encode(*tokenizer, text, true);
  for (int i = 0; i < 20; ++i) encode(*tokenizer, cat(text.substr(8), i), true);   // 16 MB are remembered
  EXPECT_EQ(encode(*tokenizer, text, true), expected);
}

TEST(Tokenizer, FourThreadsEncodeTheSame) {
  const auto tokenizer = tiny("llama3");
  ASSERT_TRUE(tokenizer);
  const std::string text = "The capital of France is Paris, isn't it? 客单价 12345 <|im_end|>\n";
  const auto expected = encode(*tokenizer, text, true);
  std::vector<std::size_t> wrong(4, 0);
  std::vector<std::thread> threads;
  for (auto& count : wrong) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        const auto ids = tokenizer->encode(text, true);
        if (!ids.ok() || ids.value() != expected) ++count;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<std::size_t>(4, 0));
}
}  // namespace
}  // namespace corisco::text
