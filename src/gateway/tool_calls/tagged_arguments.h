// Arguments written as tags around raw values, typed by the tool's schema. Strings stream; other
// values are given when they are whole.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "gateway/tool_calls/call_parser.h"
#include "gateway/tool_calls/tool_schemas.h"

namespace corisco::gateway::tool_calls {
//                      qwen3_coder      glm45           deepseek_v32
struct TagSyntax {
  std::string_view key;           // <parameter=      <arg_key>       <｜DSML｜parameter
  std::string_view key_end;       // >                </arg_key>      >
  std::string_view value;         //                  <arg_value>
  std::string_view value_end;     // </parameter>     </arg_value>    </｜DSML｜parameter>
  std::string_view end;           // </function>      </tool_call>    </｜DSML｜invoke>
  std::string_view outer_end;     // </tool_call>                     </｜DSML｜function_calls>   not consumed
  bool is_newline_markup = false; // one at each end of a value
  bool is_json_if_unknown = false;  // a value of unknown type
  // The key is name="KEY" string="true|false": the model says itself whether the value is a string.
  bool has_attributes = false;
};

// {"path": "a\"b", "lines": 3} from <parameter=path>\na"b\n</parameter><parameter=lines>3</parameter>
// value_end ends a value only if another tag of the syntax follows, else it is part of the value.
class TaggedArguments {
 public:
  TaggedArguments(const TagSyntax& syntax, std::shared_ptr<const ToolSchemas> schemas)
      : syntax_(syntax), schemas_(std::move(schemas)) {}

  // Begins the call of that tool at the first tag, ends it with the last.
  void start(std::string tool);
  Step read(Input& input, EventList& out);
  const std::string& problem() const { return problem_; }

 private:
  enum class At { tag, key, value_tag, value };

  Step fail(std::string_view what);
  Step read_part(Input& input, EventList& out);
  Step read_tag(Input& input, EventList& out);
  Step read_key(Input& input, EventList& out);
  bool start_value(std::string_view key_text, EventList& out);
  Step read_value_tag(Input& input);
  Step read_value(Input& input, EventList& out);
  Match tag_follows(const Input& input, std::size_t offset) const;
  void stream(Input& input, std::size_t bytes, EventList& out);
  void end_value(Input& input, std::size_t bytes, EventList& out);

  TagSyntax syntax_;
  std::shared_ptr<const ToolSchemas> schemas_;
  std::string tool_;
  std::string problem_;
  At at_ = At::tag;
  bool has_keys_ = false;
  ValueTypes types_;                     // of the open value
  bool is_string_ = false;               // the open value streams
  bool is_json_if_unknown_ = false;      // of the open value
  bool is_value_start_ = false;          // nothing of it is given
  std::size_t searched_ = 0;             // bytes of it without an end
};
}  // namespace corisco::gateway::tool_calls
