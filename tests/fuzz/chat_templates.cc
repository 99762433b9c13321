// Conversations of any shape through the golden templates: a text, or a refusal in the template's
// words; never a panic of the Rust half, which would come back as an internal error.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "corisco/base/files.h"
#include "corisco/base/json.h"
#include "corisco/text/chat_template.h"
#include "fuzz/fuzz.h"
#include "gateway/openai_chat.h"
#include "support/temporary_folder.h"

namespace corisco::gateway {
namespace {
using fuzz::require;
using Template = std::shared_ptr<const text::ChatTemplate>;

Template load(const std::filesystem::path& file) {
  const support::TemporaryFolder folder;
  std::filesystem::copy(file, folder / "chat_template.jinja");
  const auto written = files::write_atomically(folder / "tokenizer_config.json", R"({"bos_token": "<s>"})");
  require(written.ok(), "a folder for the template");
  auto loaded = text::ChatTemplate::load(folder.path());
  require(loaded.ok(), file.string());
  return loaded.value();
}

std::vector<Template> load_all() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(CORISCO_SOURCE_FOLDER "/tests/text/golden/templates"))
    if (entry.path().extension() == ".jinja") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<Template> templates;
  for (const auto& path : paths) templates.push_back(load(path));
  return templates;
}

// As a chat completion would bring it, or else the raw text where messages, tools or arguments belong.
text::ChatInput input_of(std::string_view body, std::size_t raw) {
  text::ChatInput input;
  const auto parsed = parse_openai_chat(std::string(body), ChatLimits{});
  if (const auto* request = std::get_if<ChatRequest>(&parsed)) {
    input.messages_json = request->messages_json;
    input.tools_json = request->tools_json;
    input.kwargs_json = request->template_kwargs_json;
  } else {
    const std::string hello = R"([{"role": "user", "content": "hi"}])";
    input.messages_json = raw == 0 ? std::string(body) : hello;
    if (raw == 1) input.tools_json = body;
    if (raw == 2) input.kwargs_json = body;
  }
  return input;
}

void check(const text::ChatTemplate& chat_template, const text::ChatInput& input) {
  const auto first = chat_template.render(input);
  const auto second = chat_template.render(input);
  require(first.ok() == second.ok(), "renders only sometimes");
  if (!first.ok()) {
    require(first.error().code == Code::invalid_argument, "failed inside: ", first.error().message);
    return;
  }
  require(first.value() == second.value(), "renders differently each time");
  require(fuzz::is_utf8(first.value()), "renders what is not UTF-8");
}
}  // namespace
}  // namespace corisco::gateway

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace corisco::gateway;
  static const auto templates = load_all();
  corisco::fuzz::Input input(data, size);
  const auto& chat_template = *templates[input.below(templates.size())];
  const auto raw = input.below(3);
  auto chat = input_of(input.rest(4096), raw);
  chat.add_generation_prompt = raw != 1;
  check(chat_template, chat);
  return 0;
}
