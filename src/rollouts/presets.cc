#include "rollouts/presets.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "corisco/base/json.h"
#include "corisco/base/strings.h"
#include "corisco/rollouts/agent_start.h"

namespace corisco::rollouts {
namespace {
using nlohmann::json;

// The template of a text that has none.
std::string plain(const std::string& text) {
  std::string doubled;
  for (const char c : text) {
    if (c == '{' || c == '}') doubled += c;
    doubled += c;
  }
  return doubled;
}

// "key=value" for Codex, whose values are TOML; its strings and JSON's agree.
std::string setting(const char* key, const json& value) { return cat(key, "=", plain(json_text(value))); }

// Prompts are passed as --option=TEXT or after --, so that one with a leading dash is no option.

HarnessForm mini_swe_agent(const std::string& prompt, const ModelFacts& model) {
  return {{"mini", plain(cat("--model=openai/", model.name)), cat("--task=", prompt), "--yolo", "--exit-immediately"},
          {{"MSWEA_CONFIGURED", "true"},                   // else it asks for a key at the terminal
           {"MSWEA_GLOBAL_CONFIG_DIR", "{home_folder}"},
           {"MSWEA_COST_TRACKING", "ignore_errors"},       // else a model without a price ends the run
           {"LITELLM_LOCAL_MODEL_COST_MAP", "True"}},
          {}};
}

HarnessForm openhands(const std::string& prompt, const ModelFacts& model) {
  return {{"openhands", "--headless", "--json", "--override-with-envs", cat("--task=", prompt)},
          {{"LLM_BASE_URL", "{base_url}"},
           {"LLM_API_KEY", "{api_key}"},
           {"LLM_MODEL", plain(cat("openai/", model.name))},
           {"OPENHANDS_SUPPRESS_BANNER", "1"},
           {"LITELLM_LOCAL_MODEL_COST_MAP", "True"},
           // Its terminal is a tmux server under one fixed name, which rollouts would otherwise share.
           {"TMUX_TMPDIR", "{home_folder}"}},
          {}};
}

// OpenCode replaces {env:NAME} itself.
HarnessForm opencode(const std::string& prompt, const ModelFacts& model) {
  const json limit = {{"context", model.context_tokens}, {"output", model.reply_tokens}};
  const json provider = {{"npm", "@ai-sdk/openai-compatible"},
                         {"name", "Corisco"},
                         {"options", {{"baseURL", "{env:OPENAI_BASE_URL}"}, {"apiKey", "{env:OPENAI_API_KEY}"}}},
                         {"models", {{model.name, {{"name", model.name}, {"limit", limit}}}}}};
  const std::string name = cat("corisco/", model.name);
  const json settings = {{"provider", {{"corisco", provider}}}, {"model", name},     {"small_model", name},
                         {"permission", {{"*", "allow"}}},      {"autoupdate", false}, {"share", "disabled"}};
  return {{"opencode", "run", "--format=json", plain(cat("--model=", name)), "--", prompt},
          {{"OPENCODE_CONFIG_CONTENT", plain(json_text(settings))},
           {"OPENCODE_DISABLE_AUTOUPDATE", "1"},
           {"OPENCODE_DISABLE_MODELS_FETCH", "1"},
           {"OPENCODE_DISABLE_LSP_DOWNLOAD", "1"},
           {"OPENCODE_DISABLE_DEFAULT_PLUGINS", "1"}},
          {}};
}

HarnessForm claude_code(const std::string& prompt, const ModelFacts& model) {
  HarnessForm form{{"claude", "--print", "--output-format=json", "--dangerously-skip-permissions", "--", prompt},
                   {{"IS_SANDBOX", "1"},                   // else root may not skip permissions
                    {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"},
                    {"CLAUDE_CODE_ATTRIBUTION_HEADER", "0"},
                    {"DISABLE_AUTOUPDATER", "1"},
                    {"DISABLE_TELEMETRY", "1"},
                    {"DISABLE_ERROR_REPORTING", "1"}},
                   {}};
  for (const char* name : {"ANTHROPIC_MODEL", "ANTHROPIC_DEFAULT_HAIKU_MODEL", "ANTHROPIC_DEFAULT_SONNET_MODEL",
                           "ANTHROPIC_DEFAULT_OPUS_MODEL", "CLAUDE_CODE_SUBAGENT_MODEL"}) {
    form.env[name] = plain(model.name);
  }
  if (model.reply_tokens > 0) form.env["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] = std::to_string(model.reply_tokens);
  if (model.context_tokens > 0) {                          // it takes an unknown model's to be a million
    form.env["CLAUDE_CODE_MAX_CONTEXT_TOKENS"] = std::to_string(model.context_tokens);
    form.env["CLAUDE_CODE_AUTO_COMPACT_WINDOW"] = std::to_string(model.context_tokens);
  }
  return form;
}

HarnessForm codex(const std::string& prompt, const ModelFacts& model) {
  std::vector<std::string> settings = {
      setting("model", model.name),
      setting("model_provider", "corisco"),
      setting("model_providers.corisco.name", "Corisco"),
      "model_providers.corisco.base_url=\"{base_url}\"",
      setting("model_providers.corisco.env_key", "OPENAI_API_KEY"),
      setting("model_providers.corisco.wire_api", "responses"),
      setting("check_for_update_on_startup", false),
      setting("analytics.enabled", false),
      setting("web_search", "disabled")};                  // the vendor's own server would do it
  for (const char* feature : {"plugins", "apps", "multi_agent", "goals"}) {
    settings.push_back(setting(cat("features.", feature).c_str(), false));
  }
  if (model.context_tokens > 0) {
    settings.push_back(setting("model_context_window", model.context_tokens));
    settings.push_back(setting("model_auto_compact_token_limit", model.context_tokens / 10 * 9));
  }
  HarnessForm form{{"codex", "exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"},
                   {{"CODEX_HOME", "{home_folder}"}},
                   {}};
  for (const auto& one : settings) form.command.insert(form.command.end(), {"-c", one});
  form.command.insert(form.command.end(), {"--", prompt});
  return form;
}

HarnessForm qwen_code(const std::string& prompt, const ModelFacts& model) {
  json generation = json::object();
  if (model.context_tokens > 0) generation["contextWindowSize"] = model.context_tokens;
  if (model.reply_tokens > 0) generation["samplingParams"]["max_tokens"] = model.reply_tokens;
  const json settings = {
      {"security", {{"auth", {{"selectedType", "openai"}}}}},
      {"privacy", {{"usageStatisticsEnabled", false}}},
      {"telemetry", {{"enabled", false}}},
      {"general", {{"enableAutoUpdate", false}}},
      {"memory", {{"enableManagedAutoMemory", false}}},    // a call of its own after the task
      {"model", {{"generationConfig", generation}}}};
  return {{"qwen", "--yolo", "--output-format=json", cat("--prompt=", prompt)},
          {{"OPENAI_MODEL", plain(model.name)}},
          {{".qwen/settings.json", plain(json_text(settings, 2))}}};
}

struct Preset {
  std::string_view name;
  HarnessForm (*form)(const std::string& prompt, const ModelFacts& model);
};
constexpr std::array<Preset, 6> kPresets{{{"mini-swe-agent", mini_swe_agent},
                                          {"openhands", openhands},
                                          {"opencode", opencode},
                                          {"claude-code", claude_code},
                                          {"codex", codex},
                                          {"qwen-code", qwen_code}}};

bool is_on(const std::string& path, const std::string& program) {
  for (const auto& folder : split(path, ':')) {
    if (::access(cat(folder.empty() ? "." : folder, "/", program).c_str(), X_OK) == 0) return true;
  }
  return false;
}
}  // namespace

ModelFacts model_facts(const config::Config& config) {
  ModelFacts facts;
  if (!config.gateway.model_names.empty()) facts.name = config.gateway.model_names.front();
  facts.context_tokens = config.engine.context_tokens_max;
  facts.reply_tokens = config.sampling.max_tokens;
  return facts;
}

HarnessForm harness_form(const config::Harness& harness, const ModelFacts& model) {
  HarnessForm form{harness.command, {}, {}};
  for (const auto& preset : kPresets) {
    if (preset.name != harness.preset) continue;
    form = preset.form(harness.prompt, model);
    form.env["HOME"] = "{home_folder}";                    // sessions and memories must not leak between rollouts
    form.env["DO_NOT_TRACK"] = "1";
    form.env["NO_COLOR"] = "1";
  }
  for (const auto& [name, text] : harness.env) form.env[name] = text;
  return form;
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const auto& preset : kPresets) names.emplace_back(preset.name);
  return names;
}

Result<void> check_program(const config::Harness& harness) {
  if (harness.preset == "none") return {};
  const std::string program = harness_form(harness, {}).command.front();
  const auto own_path = harness.env.find("PATH");
  const char* passed_path = std::getenv("PATH");
  const std::string path = own_path != harness.env.end() ? own_path->second : passed_path != nullptr ? passed_path : "";
  if (is_on(path, program)) return {};
  return Error{Code::unavailable,
               cat("rollouts.harness.preset ", harness.preset, " starts the program ", program,
                   ", which is not on the PATH; PATH=\"$(scripts/agents/install.sh ", harness.preset,
                   "):$PATH\" installs it and puts it there")};
}
}  // namespace corisco::rollouts
