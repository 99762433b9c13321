// Values by their JSON schemas in a family's own literals, as grammar rules. Pure.
#pragma once
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "gateway/tool_calls/call_grammar.h"

namespace corisco::gateway::tool_calls {
// How a family writes what JSON writes in its own way; numbers and brackets are JSON's. Rule bodies, but
// for the family.
struct LiteralForm {
  std::string family;
  std::string true_word, false_word, null_word;
  std::string comma;
  std::string any_text;                  // a string, whatever is in it
  std::string any_key;                   // a key of an object, with what stands before its value
  std::function<std::string(std::string_view)> text, key;   // this one
  bool sorts_keys = false;               // as the family's template writes them
};

//   {"type": "array", "items": {"enum": ["a", true]}}, Python's    "[" (item (", " item)*)? "]"
//                                                                   item: "\"a\"" | "True"
// An object's declared properties come in order, optional ones at will, no others. Of a strict tool, a keyword
// that is not understood here is refused; else it is passed over.
class LiteralValues {
 public:
  LiteralValues(LiteralForm form, const CallableTool& tool, GrammarText& out)
      : form_(std::move(form)), tool_(tool), out_(out) {}
  using Key = std::function<std::string(std::string_view)>;
  std::string arguments();               // the tool's, as one object
  std::string members(const Key& key);   // of the tool's arguments, each after its key

 private:
  using Json = nlohmann::ordered_json;

  std::string value(const Json& schema);
  std::string typed(const Json& schema);
  std::string of_type(const std::string& type, const Json& schema);
  std::string any();
  std::string constant(const Json& value);
  std::string number(const std::string& type, const Json& schema);
  std::string list(const Json& schema);
  std::string object(const Json& schema);
  std::string members_of(const Json& schema, const Key& key);
  std::string several(const std::string& item) const;
  std::string target(const Json& schema);
  std::string of_each(const Json& schemas);
  void check(const Json& schema);

  const LiteralForm form_;
  const CallableTool& tool_;
  GrammarText& out_;
  std::string any_;                      // the rule's name
  std::map<const Json*, std::string> targets_;   // rules of what is referred to
};
}  // namespace corisco::gateway::tool_calls
