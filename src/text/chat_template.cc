#include "corisco/text/chat_template.h"

#include <utility>

#include "corisco/base/strings.h"
#include "text/rust_call.h"
#include "text/template_sources.h"

namespace corisco::text {
namespace {
struct Free {
  void operator()(corisco_text_template* handle) const { corisco_text_template_free(handle); }
};
using Handle = std::unique_ptr<corisco_text_template, Free>;

Result<Handle> compile(const std::string& source, const std::string& path,
                       const std::string& special_tokens_json) {
  corisco_text_template* handle = nullptr;
  corisco_text_buffer message{};
  const auto code =
      corisco_text_template_new(rust_bytes(source), source.size(), rust_bytes(special_tokens_json),
                                special_tokens_json.size(), &handle, &message);
  if (code != CORISCO_TEXT_OK) {
    return rust_error(code, message, cat("could not use the chat template of ", path));
  }
  return Handle(handle);
}

class RustTemplate final : public ChatTemplate {
 public:
  RustTemplate(Handle default_template, Handle tool_use_template, std::string source)
      : default_(std::move(default_template)), tool_use_(std::move(tool_use_template)),
        source_(std::move(source)) {}

  std::string_view source() const override { return source_; }

  Result<std::string> render(const ChatInput& input) const override {
    const corisco_text_chat_input rust_input{
        .messages_json = rust_bytes(input.messages_json),
        .messages_size = input.messages_json.size(),
        .tools_json = rust_bytes(input.tools_json),
        .tools_size = input.tools_json.size(),
        .kwargs_json = rust_bytes(input.kwargs_json),
        .kwargs_size = input.kwargs_json.size(),
        .add_generation_prompt = input.add_generation_prompt,
        .now_unix_seconds = input.now_unix_seconds,
    };
    const auto& chosen = tool_use_ && !input.tools_json.empty() ? tool_use_ : default_;
    corisco_text_buffer out{};
    corisco_text_buffer message{};
    const auto code = corisco_text_template_render(chosen.get(), &rust_input, &out, &message);
    if (code != CORISCO_TEXT_OK) return rust_error(code, message, "could not render the conversation");
    return take_text(out);
  }

 private:
  Handle default_;
  Handle tool_use_;  // may be null
  const std::string source_;
};
}  // namespace

Result<std::shared_ptr<const ChatTemplate>> ChatTemplate::load(const std::string& model_folder) {
  CORISCO_TRY(const TemplateSources sources, find_templates(model_folder));
  CORISCO_TRY(Handle main, compile(sources.default_source, sources.default_path,
                                   sources.special_tokens_json));
  Handle tool_use;
  if (!sources.tool_use_source.empty()) {
    CORISCO_TRY(tool_use, compile(sources.tool_use_source, sources.tool_use_path,
                                  sources.special_tokens_json));
  }
  auto source = tool_use ? sources.tool_use_source : sources.default_source;
  return std::shared_ptr<const ChatTemplate>(
      std::make_shared<RustTemplate>(std::move(main), std::move(tool_use), std::move(source)));
}
}  // namespace corisco::text
