// What is printed is what the library prints.
#include "corisco/base/json.h"

#include <gtest/gtest.h>

#include "corisco/base/random.h"

namespace corisco {
namespace {
template <class Json>
void expect_as_the_library(const Json& value) {
  for (const int indent : {-1, 2})
    EXPECT_EQ(json_text(value, indent), value.dump(indent, ' ', false, Json::error_handler_t::replace));
}

TEST(JsonText, EveryByteAloneAndWithinText) {
  for (int byte = 0; byte < 256; ++byte) {
    const auto text = std::string(1, static_cast<char>(byte));
    expect_as_the_library(nlohmann::ordered_json(text));
    expect_as_the_library(nlohmann::ordered_json("ab" + text + "c" + text));
    expect_as_the_library(nlohmann::json{{"key " + text, text}});
  }
}

TEST(JsonText, ValuesOfEveryKind) {
  for (const char* text : {"null", "true", "0", "-7", "18446744073709551615", "1.5", "1e300", "\"\"", "[]", "{}",
                           R"({"b":[1,{"a":null},[[]]],"a":"x\ny","\u00e9":"\u00e9\ud83d\ude00","":{}})"}) {
    expect_as_the_library(parse_json(text));
    expect_as_the_library(parse_ordered_json(text));
  }
  EXPECT_EQ(json_text(parse_ordered_json(R"( {"b" : "q\"\u0001\t", "a" : [ 1 , 2 ] } )")),
            R"({"b":"q\"\u0001\t","a":[1,2]})");
}

TEST(JsonText, RandomBytes) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    std::string text;
    for (std::uint64_t i = 0; i < 1 + seed % 40; ++i)
      text += static_cast<char>(uniform(seed, i) * (seed % 2 == 0 ? 128 : 256));
    expect_as_the_library(nlohmann::ordered_json::array({text, {{text, seed}}}));
  }
}
}  // namespace
}  // namespace corisco
