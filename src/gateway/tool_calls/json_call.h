// One call written in JSON: its arguments alone, or an object with the tool's name beside them.
// Their bytes pass through as the model wrote them.
#pragma once
#include <string>
#include <string_view>
#include <utility>

#include "gateway/tool_calls/call_parser.h"
#include "gateway/tool_calls/json_scanner.h"

namespace corisco::gateway::tool_calls {
// Consumes blanks and a JSON object: the arguments of a call whose name came before. Begins the call
// at the brace, ends it with the object.
class JsonArguments {
 public:
  explicit JsonArguments(std::string name = {}, std::string id = {})
      : name_(std::move(name)), id_(std::move(id)) {}
  Step read(Input& input, EventList& out);
  const std::string& problem() const { return problem_; }

 private:
  std::string name_, id_;
  std::string problem_;
  JsonScanner scanner_;
};

// {"name": "ls", "arguments": {"path": "."}}, or "parameters"; other members are passed over.
// Begins the call once it has the name and the arguments have started. Arguments in a string are
// unwrapped, at its end; if they are null or absent they are {}. Ends the call.
class JsonCall {
 public:
  // needs_arguments: an object without them is no call
  explicit JsonCall(bool needs_arguments = false) : needs_arguments_(needs_arguments) {}
  Step read(Input& input, EventList& out);
  const std::string& problem() const { return problem_; }

 private:
  enum class Member { other, name, arguments };

  Step fail(std::string_view what);
  Step push(char c, EventList& out);
  Step push_key(char c, bool was_key);
  Step push_value(char c, bool is_start, EventList& out);
  Step start_value(char c);
  Step end_value(EventList& out);
  Step unwrap(EventList& out);
  void give(std::string_view arguments, EventList& out);
  Step end(EventList& out);

  bool needs_arguments_;
  JsonScanner scanner_;
  std::string problem_;
  Member member_ = Member::other;        // whose value is next or open
  bool is_value_open_ = false;
  char value_start_ = 0;
  std::string quoted_;                   // the open name of a member, or string, as written
  std::string name_;
  bool has_arguments_ = false;
  std::string early_arguments_;          // that came before the name
};
}  // namespace corisco::gateway::tool_calls
