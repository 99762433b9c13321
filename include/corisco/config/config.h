// The whole configuration: one struct per module, each key declared once with its default, its
// bounds and its help. The loader, `corisco config`, `corisco check` and the reference page
// (docs/config.md) all read these declarations through describe().
// Units are in the names; sizes are positive; 0 means "off" or "automatic" only where the help says so.
#pragma once
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace corisco::config {
// What a visitor is told about a key besides its name and its place in memory.
struct Rule {
  const char* help = "";
  double min = std::numeric_limits<double>::lowest();
  double max = std::numeric_limits<double>::max();
  std::vector<const char*> one_of{};   // for strings: the allowed words
  bool is_path = false;                // relative to the config file's folder
  bool is_required = false;            // an empty string or list is a problem
  bool is_secret = false;              // printed as *** when set
};

struct Run {
  std::string name = "run";
  std::string folder = "runs";
  std::uint64_t seed = 1;
  std::uint32_t updates = 0;
  std::string when_done = "exit";
  std::string log_level = "info";
  template <class V> void describe(V& v) {
    v("name", name, Rule{.help = "The run's folder is folder/name, or folder/name-2, ... if that exists."});
    v("folder", folder, Rule{.help = "Where runs are kept, relative to the working folder."});
    v("seed", seed, Rule{.help = "Of the order of tasks and of every draw."});
    v("updates", updates, Rule{.help = "Updates to make; 0 serves without training."});
    v("when_done", when_done, Rule{.help = "After the last update: exit, or go on serving.", .one_of = {"exit", "serve"}});
    v("log_level", log_level, Rule{.help = "Least level on stderr.", .one_of = {"debug", "info", "warn", "error"}});
  }
};

struct Model {
  std::string path;
  std::string device = "cpu";
  std::string dtype = "auto";
  std::uint32_t threads = 0;
  template <class V> void describe(V& v) {
    v("path", path, Rule{.help = "Hugging Face folder: config.json, safetensors, tokenizer.json.", .is_path = true, .is_required = true});
    v("device", device, Rule{.help = "Where the model lives.", .one_of = {"cpu", "cuda"}});
    v("dtype", dtype, Rule{.help = "Of weights and activations; auto: bfloat16 where the device multiplies it natively, else float32.", .one_of = {"auto", "float32", "bfloat16"}});
    v("threads", threads, Rule{.help = "CPU threads of the device's loop; 0: one per core.", .max = 1024});
  }
};

struct Engine {
  std::uint32_t sequences_max = 64;
  std::uint32_t step_tokens_max = 512;
  std::uint32_t block_tokens = 16;
  std::uint32_t kv_memory_mb = 512;
  std::uint32_t context_tokens_max = 0;
  std::uint32_t queue_max = 1024;
  bool deterministic = false;
  bool share_prefixes = true;
  std::string script;
  double script_tokens_per_second = 0;
  template <class V> void describe(V& v) {
    v("sequences_max", sequences_max, Rule{.help = "Sequences that are decoded together.", .min = 1, .max = 4096});
    v("step_tokens_max", step_tokens_max, Rule{.help = "Tokens of one forward pass: decoding first, the rest is prompt chunks.", .min = 1, .max = 65536});
    v("block_tokens", block_tokens, Rule{.help = "Tokens of one KV block.", .min = 1, .max = 1024});
    v("kv_memory_mb", kv_memory_mb, Rule{.help = "Memory of the KV cache.", .min = 1});
    v("context_tokens_max", context_tokens_max, Rule{.help = "Prompt and reply together; 0: what the model's config says."});
    v("queue_max", queue_max, Rule{.help = "Sequences that wait; beyond that a request gets 429.", .min = 1});
    v("deterministic", deterministic, Rule{.help = "A reply depends on its prompt and key alone, and the trainer's log-probabilities equal the engine's bit for bit. On the CPU alone; slower in bfloat16."});
    v("share_prefixes", share_prefixes, Rule{.help = "Sequences with the same beginning share its KV blocks."});
    v("script", script, Rule{.help = "JSON lines file of rules that answer in the model's place, to try harnesses and the gateway without one; model.path then needs no weights. Not for training.", .is_path = true});
    v("script_tokens_per_second", script_tokens_per_second, Rule{.help = "Of each scripted reply; 0: all at once.", .min = 0, .max = 1e6});
  }
};

struct Sampling {
  float temperature = 1.0F;
  float top_p = 1.0F;
  std::uint32_t top_k = 0;
  float min_p = 0.0F;
  float repetition_penalty = 1.0F;
  float presence_penalty = 0.0F;
  float frequency_penalty = 0.0F;
  std::uint32_t max_tokens = 1024;
  bool obey_client = false;
  template <class V> void describe(V& v) {
    v("temperature", temperature, Rule{.help = "Of training rollouts.", .min = 0.01, .max = 10});
    v("top_p", top_p, Rule{.help = "1: off. Truncation biases the ratio that the loss uses.", .min = 0.01, .max = 1});
    v("top_k", top_k, Rule{.help = "0: off."});
    v("min_p", min_p, Rule{.help = "0: off.", .min = 0, .max = 1});
    v("repetition_penalty", repetition_penalty, Rule{.help = "1: off. Of tokens that the prompt or the reply has; biases the ratio, as the next two do.", .min = 0.01, .max = 10});
    v("presence_penalty", presence_penalty, Rule{.help = "0: off. Of tokens that the reply has.", .min = -10, .max = 10});
    v("frequency_penalty", frequency_penalty, Rule{.help = "0: off. Of tokens for each time that the reply has them.", .min = -10, .max = 10});
    v("max_tokens", max_tokens, Rule{.help = "Cap of one reply; a client's smaller value is obeyed.", .min = 1});
    v("obey_client", obey_client, Rule{.help = "Let a harness set temperature, truncation, penalties, biases and seed in training; otherwise its values are counted and ignored."});
  }
};

struct Gateway {
  std::string listen = "127.0.0.1:8080";
  std::string unscoped = "serve";
  std::string static_key;
  std::string admin_key;
  std::string observer_key;
  std::uint32_t connections_max = 4096;
  std::uint64_t body_bytes_max = 64U << 20;
  std::uint32_t header_bytes_max = 16384;
  std::uint32_t header_seconds_max = 10;
  std::uint32_t body_seconds_max = 60;
  std::uint32_t idle_seconds_max = 180;
  std::uint32_t write_seconds_max = 30;
  std::uint32_t calls_per_attempt_max = 200;
  std::uint32_t calls_per_minute_max = 600;
  std::uint32_t choices_max = 16;
  std::vector<std::string> model_names;
  std::vector<std::string> frozen_names;
  std::map<std::string, std::string> upstream_urls;
  std::string upstream_key;
  bool train_side_calls = false;
  bool train_subagents = true;
  std::vector<std::string> hosts;
  std::vector<std::string> cors_origins;
  std::string tls_certificate;
  std::string tls_private_key;
  std::string tool_parser = "auto";
  std::string reasoning_parser = "auto";
  bool exact_serving = false;
  bool keep_reasoning = false;
  bool control_tokens_in_text = false;
  template <class V> void describe(V& v) {
    v("listen", listen, Rule{.help = "host:port; port 0 takes a free one and logs it.", .is_required = true});
    v("unscoped", unscoped, Rule{.help = "Calls outside any rollout: served (never trained) or refused.", .one_of = {"serve", "refuse"}});
    v("static_key", static_key, Rule{.help = "If set, calls outside any rollout need it as their key.", .is_secret = true});
    v("admin_key", admin_key, Rule{.help = "Key of /admin and of opening rollouts over HTTP; empty: allowed from loopback only.", .is_secret = true});
    v("observer_key", observer_key, Rule{.help = "Key of /metrics, which also opens GET /admin/state and nothing else; empty: /metrics is open to all.", .is_secret = true});
    v("connections_max", connections_max, Rule{.help = "Open connections. Of each of 64 more one request is read: probes, /metrics, /admin and rewards are answered as ever, all else by 429. Beyond those accepting waits.", .min = 1});
    v("body_bytes_max", body_bytes_max, Rule{.help = "Of one request.", .min = 1024});
    v("header_bytes_max", header_bytes_max, Rule{.help = "Of one request's head.", .min = 256});
    v("header_seconds_max", header_seconds_max, Rule{.help = "To receive a whole head.", .min = 1});
    v("body_seconds_max", body_seconds_max, Rule{.help = "To receive a whole body.", .min = 1});
    v("idle_seconds_max", idle_seconds_max, Rule{.help = "Between two requests of a connection.", .min = 1});
    v("write_seconds_max", write_seconds_max, Rule{.help = "Without progress of a write, then the reader is cut.", .min = 1});
    v("calls_per_attempt_max", calls_per_attempt_max, Rule{.help = "Further calls of the attempt are answered by a last turn of the gateway's own, later ones by 429; the rollout ends as truncated.", .min = 1});
    v("calls_per_minute_max", calls_per_minute_max, Rule{.help = "Of one attempt; further calls are held until a minute has room for them.", .min = 1});
    v("choices_max", choices_max, Rule{.help = "Largest n of a request.", .min = 1, .max = 128});
    v("model_names", model_names, Rule{.help = "The only names that are served, each by the model; empty: every name is."});
    v("frozen_names", frozen_names, Rule{.help = "Names that the model serves without training what it replies to them: a judge, a user's simulator."});
    v("upstream_urls", upstream_urls, Rule{.help = "Names that another server replies to, each with its base URL (https://host/v1); recorded nowhere, never trained."});
    v("upstream_key", upstream_key, Rule{.help = "Key for those servers; their clients' own keys are never passed on.", .is_secret = true});
    v("train_side_calls", train_side_calls, Rule{.help = "Also train what a harness asks beside its task: titles, topics, memories."});
    v("train_subagents", train_subagents, Rule{.help = "Train what the sub-agents of Claude Code, Codex and OpenCode reply, which say so in their requests; false: it is served and recorded alone."});
    v("hosts", hosts, Rule{.help = "Host names by which browsers may reach the daemon, beside its address and localhost; a request with another Host header is refused."});
    v("cors_origins", cors_origins, Rule{.help = "Web pages that may read replies (https://host[:port]); requests with another Origin header are refused."});
    v("tls_certificate", tls_certificate, Rule{.help = "PEM file, the chain in it; with tls_private_key the daemon speaks HTTPS alone.", .is_path = true});
    v("tls_private_key", tls_private_key, Rule{.help = "PEM file of the certificate's key.", .is_path = true});
    v("tool_parser", tool_parser, Rule{.help = "How the model writes tool calls, under vLLM's names; auto: as its chat template does. none: replies are text.", .one_of = {"auto", "none", "hermes", "qwen3_coder", "llama3_json", "mistral", "deepseek_v3", "deepseek_v31", "glm45", "glm47", "pythonic", "llama4_pythonic", "deepseek_v32", "kimi_k2", "gemma", "openai"}});
    v("reasoning_parser", reasoning_parser, Rule{.help = "Whether text in <think> tags at a reply's start, or in the analysis channel of gpt-oss (openai), is told apart; auto: as the chat template does.", .one_of = {"auto", "none", "think", "openai"}});
    v("exact_serving", exact_serving, Rule{.help = "A request goes on from an earlier reply only if its rendering repeats that reply byte for byte; otherwise form may differ: blanks, rewritten tool arguments, an empty thinking block."});
    v("keep_reasoning", keep_reasoning, Rule{.help = "Keep a reply's reasoning in the prompts that go on from it though the harness or the chat template drops it. Training then sees what deployment may not."});
    v("control_tokens_in_text", control_tokens_in_text, Rule{.help = "Encode special-token strings within messages as control tokens; otherwise they are text."});
  }
};

struct Samples {
  std::string merge = "trajectory";
  std::string durability = "normal";
  std::uint32_t prompt_tokens_max = 0;
  std::uint32_t reply_tokens_max = 0;
  std::uint32_t row_tokens_max = 0;
  double undelivered_share_alarm = 0.05;
  std::uint32_t retention_days = 0;
  template <class V> void describe(V& v) {
    v("merge", merge, Rule{.help = "A row per branch (trajectory) or per call (transition).", .one_of = {"trajectory", "transition"}});
    v("durability", durability, Rule{.help = "Of the run's journal of calls, rewards and ends. normal: written before a call's last byte is sent, so that no kill loses it; strict: on the disk too, so that no power cut does; off: no journal, no --resume.", .one_of = {"normal", "strict", "off"}});
    v("prompt_tokens_max", prompt_tokens_max, Rule{.help = "Replies to longer prompts are not trained, and counted; 0: no limit."});
    v("reply_tokens_max", reply_tokens_max, Rule{.help = "Longer replies are not trained, and counted; 0: no limit."});
    v("row_tokens_max", row_tokens_max, Rule{.help = "Of a training row. A branch ends at its last call whose prompt and reply fit; longer ones are not trained, and counted. 0: no limit."});
    v("undelivered_share_alarm", undelivered_share_alarm, Rule{.help = "Warn when more than this share of an update's sampled tokens never reached their client; 1: never.", .min = 0, .max = 1});
    v("retention_days", retention_days, Rule{.help = "Prompts and replies of trained rollouts are removed from the journal when they are older; 0: kept as long as the run's folder."});
  }
};

struct Harness {
  std::string preset = "none";
  std::string prompt = "{task.prompt}";
  std::vector<std::string> command;
  std::string python;
  bool external = false;
  std::string python_interpreter = "python3";
  std::vector<std::string> python_preload;
  std::map<std::string, std::string> env;
  std::vector<std::string> env_pass;
  template <class V> void describe(V& v) {
    v("preset", preset, Rule{.help = "An agent that is started as its page in docs/harnesses says, instead of a command.", .one_of = {"none", "mini-swe-agent", "openhands", "opencode", "claude-code", "codex", "qwen-code"}});
    v("prompt", prompt, Rule{.help = "What a preset's agent is asked to do; templates as in command."});
    v("command", command, Rule{.help = "Program and arguments. {task.KEY} is a field of the task, {base_url}, {api_key}, {rollout_id}, {attempt}, {task_file}, {reward_file}, {work_folder}, {home_folder}, {config_folder} as named; an unknown key is an error."});
    v("python", python, Rule{.help = "file.py:function instead of a command: called as function(task) in a child forked from a warmed interpreter.", .is_path = true});
    v("external", external, Rule{.help = "Instead of both: harnesses run elsewhere, and each takes the next rollout by POST /admin/rollouts."});
    v("python_interpreter", python_interpreter, Rule{.help = "Interpreter of python harnesses and rewards.", .is_path = false});
    v("python_preload", python_preload, Rule{.help = "Modules that the warmed interpreter imports before it forks."});
    v("env", env, Rule{.help = "Further environment variables, with the same templates as command."});
    v("env_pass", env_pass, Rule{.help = "Variables of the daemon's own environment that are passed on, by name (PATH, HOME and LANG always are)."});
  }
};

struct Reward {
  std::string source = "file";
  std::string python;
  std::vector<std::string> command;
  double minimum = 0.0;
  std::uint32_t seconds_max = 60;
  template <class V> void describe(V& v) {
    v("source", source, Rule{.help = "Where a rollout's reward comes from: the harness's reward file, a Python function or a command that runs after it, or a posted event.", .one_of = {"file", "python", "command", "event"}});
    v("python", python, Rule{.help = "file.py:function, called as function(task, rollout); returns a number, a boolean or (number, note).", .is_path = true});
    v("command", command, Rule{.help = "Program and arguments; prints the reward as its last line. Templates as in harness.command."});
    v("minimum", minimum, Rule{.help = "Reward of ends that the policy brought about without one: a timeout, a crash, no reward."});
    v("seconds_max", seconds_max, Rule{.help = "Of one grading.", .min = 1});
  }
};

struct Rollouts {
  std::string tasks;
  Harness harness;
  Reward reward;
  std::uint32_t group_size = 8;
  std::uint32_t groups_per_update = 8;
  std::uint32_t groups_active_max = 0;
  std::uint32_t processes_max = 64;
  std::uint32_t seconds_max = 600;
  std::uint32_t attempts_max = 3;
  std::uint32_t infrastructure_failures_max = 20;
  std::uint64_t output_bytes_max = 1U << 20;
  std::uint64_t memory_mb_max = 0;
  std::uint64_t tree_memory_mb_max = 0;
  std::uint32_t tree_processes_max = 0;
  bool shuffle = true;
  template <class V> void describe(V& v) {
    v("tasks", tasks, Rule{.help = "JSON lines, one task a line; the field id is optional.", .is_path = true});
    v("harness", harness, Rule{});
    v("reward", reward, Rule{});
    v("group_size", group_size, Rule{.help = "Sibling rollouts of a task.", .min = 1, .max = 1024});
    v("groups_per_update", groups_per_update, Rule{.help = "Whole groups that one update consumes (B_train).", .min = 1, .max = 65536});
    v("groups_active_max", groups_active_max, Rule{.help = "Groups that may be open at once (B_async); 0: groups_per_update. More needs coordinator.mode collocated_async.", .max = 65536});
    v("processes_max", processes_max, Rule{.help = "Harness processes that run at once.", .min = 1, .max = 4096});
    v("seconds_max", seconds_max, Rule{.help = "Of one attempt, without its time at the gate and in the engine's queue.", .min = 1});
    v("attempts_max", attempts_max, Rule{.help = "Tries of a rollout that fails for infrastructure reasons.", .min = 1, .max = 100});
    v("infrastructure_failures_max", infrastructure_failures_max, Rule{.help = "In a row; then the run stops with the reason.", .min = 1});
    v("output_bytes_max", output_bytes_max, Rule{.help = "Of a rollout's output that is kept.", .min = 0});
    v("memory_mb_max", memory_mb_max, Rule{.help = "Address space of each harness process; 0: no limit."});
    v("tree_memory_mb_max", tree_memory_mb_max, Rule{.help = "Resident memory of a harness and all it starts, looked at every second; over it the rollout ends as limit_exceeded and is graded; 0: no limit."});
    v("tree_processes_max", tree_processes_max, Rule{.help = "Processes of a harness and all it starts; as tree_memory_mb_max."});
    v("shuffle", shuffle, Rule{.help = "Tasks in an order drawn anew for each pass, by the run's seed; false: the file's order."});
  }
};

struct Trainer {
  std::string advantage = "grpo";
  double learning_rate = 1e-6;
  std::string schedule = "constant";
  std::uint32_t warmup_updates = 0;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0.0;
  float grad_norm_max = 1.0F;
  float clip_low = 0.2F, clip_high = 0.28F, dual_clip = 3.0F;
  float correction_cap = 2.0F;
  float kl_coefficient = 0.0F;
  std::uint32_t epochs = 1;
  std::uint32_t micro_batch_tokens = 256;
  bool share_prefixes = true;
  bool replay_routing = false;
  std::uint32_t checkpoint_every = 0;
  std::uint32_t checkpoints_kept = 2;
  template <class V> void describe(V& v) {
    v("advantage", advantage, Rule{.help = "Of a rollout within its group: grpo (R - mean) / (std + 1e-6), grpo_no_std R - mean, rloo R - mean of the others.", .one_of = {"grpo", "grpo_no_std", "rloo"}});
    v("learning_rate", learning_rate, Rule{.help = "Peak of the schedule.", .min = 0, .max = 1});
    v("schedule", schedule, Rule{.help = "After the warm-up, down to a tenth at run.updates, or constant.", .one_of = {"constant", "linear", "cosine"}});
    v("warmup_updates", warmup_updates, Rule{.help = "Updates of linear warm-up."});
    v("beta1", beta1, Rule{.help = "AdamW.", .min = 0, .max = 0.9999});
    v("beta2", beta2, Rule{.help = "AdamW.", .min = 0, .max = 0.99999});
    v("epsilon", epsilon, Rule{.help = "AdamW.", .min = 0, .max = 1});
    v("weight_decay", weight_decay, Rule{.help = "AdamW; norms and biases have none.", .min = 0, .max = 1});
    v("grad_norm_max", grad_norm_max, Rule{.help = "Gradients are scaled down to this norm; 0: never.", .min = 0});
    v("clip_low", clip_low, Rule{.help = "Ratio below 1 - clip_low is clipped.", .min = 0, .max = 1});
    v("clip_high", clip_high, Rule{.help = "Ratio above 1 + clip_high is clipped.", .min = 0, .max = 10});
    v("dual_clip", dual_clip, Rule{.help = "With a negative advantage the loss of a token is at most this times its size; 0: off.", .min = 0});
    v("correction_cap", correction_cap, Rule{.help = "Cap of exp(logprob_old - sampled_logprob), the weight of tokens from older weights.", .min = 1});
    v("kl_coefficient", kl_coefficient, Rule{.help = "Weight of the k3 divergence from the initial weights; 0: off, and no copy of them is kept.", .min = 0});
    v("epochs", epochs, Rule{.help = "Optimizer steps over the same batch.", .min = 1, .max = 64});
    v("micro_batch_tokens", micro_batch_tokens, Rule{.help = "Token budget of one forward and backward; a longer row goes alone.", .min = 1});
    v("share_prefixes", share_prefixes, Rule{.help = "Rows of a group that begin alike compute that beginning once per micro-batch."});
    v("replay_routing", replay_routing, Rule{.help = "Of mixture-of-experts models: train each token through the experts that it was sampled with. Records 2 bytes per expert, layer and token."});
    v("checkpoint_every", checkpoint_every, Rule{.help = "Updates between checkpoints; 0: at the end alone."});
    v("checkpoints_kept", checkpoints_kept, Rule{.help = "Older ones are deleted once a newer one is whole.", .min = 1});
  }
};

struct Coordinator {
  std::string mode = "sync";
  std::uint32_t policy_age_max = 2;
  std::uint32_t drain_seconds_max = 120;
  template <class V> void describe(V& v) {
    v("mode", mode, Rule{.help = "sync: an update uses only rollouts of the current weights. collocated_async: up to rollouts.groups_active_max groups are open, an update starts when groups_per_update are whole, the others are carried over.", .one_of = {"sync", "collocated_async"}});
    v("policy_age_max", policy_age_max, Rule{.help = "Versions between sampling and training of a token; a group about to pass it makes the update wait for it.", .min = 0, .max = 1000});
    v("drain_seconds_max", drain_seconds_max, Rule{.help = "In-flight replies may finish this long before an update; then they pause at a token boundary and go on after it.", .min = 0});
  }
};

struct Evaluation {
  std::string tasks;
  std::uint32_t every = 0;
  bool at_start = true;
  bool at_end = true;
  std::uint32_t rollouts_per_task = 1;
  float temperature = 1.0F;
  template <class V> void describe(V& v) {
    v("tasks", tasks, Rule{.help = "Held-out tasks, JSON lines; empty: no evaluation.", .is_path = true});
    v("every", every, Rule{.help = "Updates between evaluations; 0: none on the way."});
    v("at_start", at_start, Rule{.help = "Before the first update."});
    v("at_end", at_end, Rule{.help = "After the last update."});
    v("rollouts_per_task", rollouts_per_task, Rule{.help = "Repeats of each held-out task.", .min = 1});
    v("temperature", temperature, Rule{.help = "Of evaluation rollouts; 0: greedy.", .min = 0, .max = 10});
  }
};

struct Metrics {
  bool tensorboard = true;
  template <class V> void describe(V& v) {
    v("tensorboard", tensorboard, Rule{.help = "Also write the run's curves as TensorBoard events."});
  }
};

struct Shutdown {
  bool checkpoint = false;
  template <class V> void describe(V& v) {
    v("checkpoint", checkpoint, Rule{.help = "On a first SIGTERM or Ctrl-C write a checkpoint before the exit, however long it takes."});
  }
};

struct Config {
  Run run;
  Model model;
  Engine engine;
  Sampling sampling;
  Gateway gateway;
  Samples samples;
  Rollouts rollouts;
  Trainer trainer;
  Coordinator coordinator;
  Evaluation evaluation;
  Metrics metrics;
  Shutdown shutdown;
  std::string file;                    // where it was read from; not a key
  template <class V> void describe(V& v) {
    v("run", run, Rule{});
    v("model", model, Rule{});
    v("engine", engine, Rule{});
    v("sampling", sampling, Rule{});
    v("gateway", gateway, Rule{});
    v("samples", samples, Rule{});
    v("rollouts", rollouts, Rule{});
    v("trainer", trainer, Rule{});
    v("coordinator", coordinator, Rule{});
    v("evaluation", evaluation, Rule{});
    v("metrics", metrics, Rule{});
    v("shutdown", shutdown, Rule{});
  }
};
}  // namespace corisco::config
