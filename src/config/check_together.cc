// What one key demands of another. Each check says which key to change and why.
#include <algorithm>
#include <charconv>

#include "config/expand.h"
#include "config/templates.h"
#include "corisco/base/strings.h"
#include "corisco/base/url.h"
#include "corisco/config/load.h"

namespace corisco::config {
namespace {
// The config under check and where its problems go.
struct Check {
  const Config& config;
  std::vector<Problem>& problems;
  bool trains() const { return config.run.updates > 0; }
  bool evaluates() const { return !config.evaluation.tasks.empty(); }
  void report(const char* path, std::string message) const {
    problems.push_back({0, path, std::move(message)});
  }
};

// "file.py:function"
bool is_python_function(const std::string& name) {
  const auto colon = name.rfind(':');
  return colon != std::string::npos && ends_with(name.substr(0, colon), ".py") &&
         is_variable_name(name.substr(colon + 1));
}

void check_run(const Check& check) {
  const std::string& name = check.config.run.name;
  const bool is_folder_name =
      !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
  if (!is_folder_name) check.report("run.name", cat("\"", name, "\" is not a folder's name"));
  if (check.trains() && check.config.rollouts.tasks.empty()) {
    check.report("rollouts.tasks", "is required when run.updates is above 0");
  }
  if (!check.evaluates() && check.config.evaluation.every > 0) {
    check.report("evaluation.every", "needs evaluation.tasks");
  }
}

void check_harness(const Check& check) {
  const Harness& harness = check.config.rollouts.harness;
  const bool has_command = !harness.command.empty(), has_python = !harness.python.empty();
  const bool has_preset = harness.preset != "none";
  if (has_preset && (has_command || has_python || harness.external)) {
    check.report("rollouts.harness.preset", cat(harness.preset, " is given together with a command, a python "
                                                "function or external: true; leave one out"));
  }
  if (!has_preset && harness.prompt != Harness{}.prompt) {
    check.report("rollouts.harness.prompt", "has no effect without rollouts.harness.preset");
  }
  if (harness.external && (has_command || has_python)) {
    check.report("rollouts.harness.external", "is given together with a command or a python function; leave one out");
  }
  if (has_command && has_python) {
    check.report("rollouts.harness.command", "is given together with rollouts.harness.python; leave one out");
  }
  const bool has_any = has_command || has_python || has_preset || harness.external;
  if (!has_any && (check.trains() || check.evaluates())) {
    check.report("rollouts.harness", "needs a preset, a command, a python function or external: true when run.updates "
                                     "or evaluation.tasks is set");
  }
  if (has_python && !is_python_function(harness.python)) {
    check.report("rollouts.harness.python",
                 cat("\"", harness.python, "\" is not of the form file.py:function"));
  }
  const auto check_name = [&](const char* path, const std::string& name) {
    if (!is_variable_name(name)) check.report(path, cat("\"", name, "\" is not the name of an environment variable"));
  };
  for (const auto& name : harness.env_pass) check_name("rollouts.harness.env_pass", name);
  for (const auto& [name, text] : harness.env) check_name("rollouts.harness.env", name);
}

void check_templates(const Check& check) {
  const auto look = [&](const char* path, const std::string& text) {
    for (const auto& name : unknown_placeholders(text)) {
      check.report(path, cat("{", name, "} in \"", text, "\" is none of ", placeholder_list()));
    }
  };
  const Rollouts& rollouts = check.config.rollouts;
  look("rollouts.harness.prompt", rollouts.harness.prompt);
  for (const auto& word : rollouts.harness.command) look("rollouts.harness.command", word);
  for (const auto& [name, text] : rollouts.harness.env) look("rollouts.harness.env", text);
  for (const auto& word : rollouts.reward.command) look("rollouts.reward.command", word);
}

void check_reward(const Check& check) {
  const Reward& reward = check.config.rollouts.reward;
  const bool wants_python = reward.source == "python", wants_command = reward.source == "command";
  if (wants_python && !is_python_function(reward.python)) {
    check.report("rollouts.reward.python", "must be file.py:function when rollouts.reward.source is python");
  }
  if (wants_command && reward.command.empty()) {
    check.report("rollouts.reward.command", "is required when rollouts.reward.source is command");
  }
  if (!wants_python && !reward.python.empty()) {
    check.report("rollouts.reward.python",
                 cat("has no effect when rollouts.reward.source is ", reward.source));
  }
  if (!wants_command && !reward.command.empty()) {
    check.report("rollouts.reward.command",
                 cat("has no effect when rollouts.reward.source is ", reward.source));
  }
}

// With at most A groups open, of which an update takes the B that were opened first, a group can
// be carried over (A - 1) / B times at most; that many versions are its policy age.
void check_ages(const Check& check) {
  const std::uint64_t active = check.config.rollouts.groups_active_max;
  const std::uint64_t consumed = check.config.rollouts.groups_per_update;
  const std::uint64_t age = check.config.coordinator.policy_age_max;
  const bool is_async = check.config.coordinator.mode == "collocated_async";
  if (is_async && age < 1) {
    check.report("coordinator.policy_age_max",
                 "must be at least 1 in collocated_async, which carries groups over");
  }
  if (active == 0) return;
  if (active < consumed) {
    check.report("rollouts.groups_active_max",
                 cat(active, " is below rollouts.groups_per_update (", consumed, "): no update could start"));
  }
  if (active > consumed && !is_async) {
    check.report("rollouts.groups_active_max", cat(active, " is above rollouts.groups_per_update (", consumed,
                                                   "), which needs coordinator.mode collocated_async"));
  }
  if (is_async && active > (age + 1) * consumed) {
    check.report("rollouts.groups_active_max",
                 cat(active, " is above (coordinator.policy_age_max + 1) * rollouts.groups_per_update = ",
                     (age + 1) * consumed, ": groups would grow older than allowed"));
  }
}

void check_engine(const Check& check) {
  const Engine& engine = check.config.engine;
  if (engine.step_tokens_max < engine.sequences_max) {
    check.report("engine.step_tokens_max", cat(engine.step_tokens_max, " is below engine.sequences_max (",
                                               engine.sequences_max, "): a step could not decode them all"));
  }
  if (engine.context_tokens_max > 0 && check.config.sampling.max_tokens >= engine.context_tokens_max) {
    check.report("sampling.max_tokens", cat(check.config.sampling.max_tokens,
                                            " leaves no room for a prompt in engine.context_tokens_max (",
                                            engine.context_tokens_max, ")"));
  }
}

void check_script(const Check& check) {
  const Engine& engine = check.config.engine;
  if (engine.script.empty() && engine.script_tokens_per_second > 0) {
    check.report("engine.script_tokens_per_second", "has no effect without engine.script");
  }
  if (!engine.script.empty() && check.trains()) {
    check.report("engine.script",
                 "answers in the model's place and cannot be trained: set run.updates to 0, or leave it out");
  }
  if (!engine.script.empty() && check.config.trainer.replay_routing) {
    check.report("trainer.replay_routing",
                 "needs a model with experts, and engine.script answers in its place: turn it off");
  }
}

void check_trainer(const Check& check) {
  const Trainer& trainer = check.config.trainer;
  if (check.trains() && trainer.warmup_updates > check.config.run.updates) {
    check.report("trainer.warmup_updates",
                 cat(trainer.warmup_updates, " is above run.updates (", check.config.run.updates, ")"));
  }
  if (trainer.dual_clip > 0 && trainer.dual_clip <= 1) {
    check.report("trainer.dual_clip", "must be 0 (off) or above 1, else it cuts unclipped losses too");
  }
  if (trainer.epsilon <= 0) check.report("trainer.epsilon", "must be above 0: AdamW divides by it");
}

void check_listen(const Check& check) {
  const std::string& listen = check.config.gateway.listen;
  const auto colon = listen.rfind(':');
  std::uint32_t port = 0;
  const char* end = listen.data() + listen.size();
  const bool has_port = colon != std::string::npos && colon > 0 && colon + 1 < listen.size() &&
                        std::from_chars(listen.data() + colon + 1, end, port).ptr == end && port <= 65535;
  if (!listen.empty() && !has_port) check.report("gateway.listen", cat("\"", listen, "\" is not host:port"));
}

void check_unscoped(const Check& check) {
  const Gateway& gateway = check.config.gateway;
  if (gateway.unscoped == "refuse" && !gateway.static_key.empty())
    check.report("gateway.static_key", "has no effect when gateway.unscoped is refuse: no key admits such a call");
}

void check_tls(const Check& check) {
  const Gateway& gateway = check.config.gateway;
  if (gateway.tls_certificate.empty() == gateway.tls_private_key.empty()) return;
  const bool has_certificate = !gateway.tls_certificate.empty();
  check.report(has_certificate ? "gateway.tls_private_key" : "gateway.tls_certificate",
               cat("is required with gateway.", has_certificate ? "tls_certificate" : "tls_private_key"));
}

// gpt-oss writes calls and reasoning in channels, which one parser reads.
void check_parsers(const Check& check) {
  const Gateway& gateway = check.config.gateway;
  const auto& calls = gateway.tool_parser;
  const auto& reasoning = gateway.reasoning_parser;
  if (reasoning == "openai" && calls != "auto" && calls != "none" && calls != "openai") {
    check.report("gateway.reasoning_parser",
                 cat("openai does not go with gateway.tool_parser: ", calls, "; leave one of them auto"));
  }
  if (calls == "openai" && reasoning == "think") {
    check.report("gateway.reasoning_parser", "think does not go with gateway.tool_parser: openai; leave it auto");
  }
}

void check_browsers(const Check& check) {
  for (const auto& host : check.config.gateway.hosts) {
    if (!host.empty() && host.find_first_of("/*@ ") == std::string::npos) continue;
    check.report("gateway.hosts", cat("\"", host, "\" is not a host name, with or without :port"));
  }
  for (const auto& origin : check.config.gateway.cors_origins) {
    const auto scheme = origin.find("://");
    const bool is_origin = scheme != std::string::npos && scheme > 0 && scheme + 3 < origin.size() &&
                           origin.find_first_of("/*@ ", scheme + 3) == std::string::npos;
    if (is_origin) continue;
    check.report("gateway.cors_origins",
                 cat("\"", origin, "\" is not a web page's origin such as https://name:8443, without a path"));
  }
}

// Each name has one role.
void check_model_names(const Check& check) {
  constexpr const char* kEmptyName = "holds an empty name: that is a request without one, the policy's";
  const Gateway& gateway = check.config.gateway;
  const auto has = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const auto& name : gateway.frozen_names) {
    if (name.empty()) check.report("gateway.frozen_names", kEmptyName);
    if (has(gateway.model_names, name))
      check.report("gateway.frozen_names",
                   cat("\"", name, "\" is in gateway.model_names too, as the policy; leave one out"));
  }
  for (const auto& [name, text] : gateway.upstream_urls) {
    if (name.empty()) check.report("gateway.upstream_urls", kEmptyName);
    const bool is_policy = has(gateway.model_names, name), is_frozen = has(gateway.frozen_names, name);
    if (is_policy || is_frozen)
      check.report("gateway.upstream_urls",
                   cat("\"", name, "\" is in gateway.", is_policy ? "model_names" : "frozen_names",
                       " too; leave one out"));
    if (const auto url = parse_http_url(text); !url.ok()) check.report("gateway.upstream_urls", url.error().message);
  }
  if (!gateway.upstream_key.empty() && gateway.upstream_urls.empty())
    check.report("gateway.upstream_key", "has no effect without gateway.upstream_urls");
  const auto is_printable = [](char c) { return c > ' ' && c < '\x7f'; };
  if (!std::all_of(gateway.upstream_key.begin(), gateway.upstream_key.end(), is_printable))
    check.report("gateway.upstream_key", "holds a blank, a line's end or another character that no header can carry");
}
}  // namespace

void check_together(const Config& config, std::vector<Problem>& problems) {
  const Check check{config, problems};
  check_run(check);
  check_harness(check);
  check_templates(check);
  check_reward(check);
  check_ages(check);
  check_engine(check);
  check_script(check);
  check_trainer(check);
  check_listen(check);
  check_unscoped(check);
  check_tls(check);
  check_parsers(check);
  check_browsers(check);
  check_model_names(check);
}
}  // namespace corisco::config
