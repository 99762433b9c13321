// What keys demand of each other: for each rule the nearest config that breaks it.
#include <gtest/gtest.h>

#include "corisco/config/load.h"

namespace corisco::config {
namespace {
Config good() {
  Config config;
  config.model.path = "/m";
  config.run.updates = 10;
  config.rollouts.tasks = "/tasks.jsonl";
  config.rollouts.harness.python = "/agent.py:solve";
  return config;
}

// "path: message" of each problem, a line each.
std::string problems_of(const Config& config) {
  std::vector<Problem> problems;
  check_together(config, problems);
  std::string lines;
  for (const auto& problem : problems) lines += problem.path + ": " + problem.message + "\n";
  return lines;
}

template <class Change>
std::string after(Change change) {
  Config config = good();
  change(config);
  return problems_of(config);
}

TEST(CheckTogether, ServingAloneNeedsNoTasksAndNoHarness) {
  Config config;
  config.model.path = "/m";
  EXPECT_EQ(problems_of(config), "");
  EXPECT_EQ(problems_of(good()), "");
}

TEST(CheckTogether, TrainingNeedsTasks) {
  EXPECT_EQ(after([](Config& c) { c.rollouts.tasks = ""; }),
            "rollouts.tasks: is required when run.updates is above 0\n");
}

TEST(CheckTogether, AKeyOfCallsThatAreRefusedHasNoEffect) {
  const auto with_key = [](std::string unscoped) {
    return after([&](Config& c) {
      c.gateway.static_key = "k";
      c.gateway.unscoped = std::move(unscoped);
    });
  };
  EXPECT_EQ(with_key("serve"), "");
  EXPECT_EQ(with_key("refuse"),
            "gateway.static_key: has no effect when gateway.unscoped is refuse: no key admits such a call\n");
}

TEST(CheckTogether, ExactlyOneHarness) {
  const std::string none =
      "rollouts.harness: needs a preset, a command, a python function or external: true when run.updates or "
      "evaluation.tasks is set\n";
  EXPECT_EQ(after([](Config& c) { c.rollouts.harness.python = ""; }), none);
  EXPECT_EQ(after([](Config& c) {
              c.rollouts.harness.python = "";
              c.run.updates = 0;
              c.evaluation.tasks = "/held.jsonl";
            }),
            none);
  EXPECT_EQ(after([](Config& c) { c.rollouts.harness.external = true; }),
            "rollouts.harness.external: is given together with a command or a python function; leave one out\n");
  EXPECT_EQ(after([](Config& c) {
              c.rollouts.harness.python = "";
              c.rollouts.harness.external = true;
            }),
            "");
  EXPECT_EQ(after([](Config& c) { c.rollouts.harness.command = {"agent"}; }),
            "rollouts.harness.command: is given together with rollouts.harness.python; leave one out\n");
  EXPECT_EQ(after([](Config& c) { c.rollouts.harness.python = "/agent.py"; }),
            "rollouts.harness.python: \"/agent.py\" is not of the form file.py:function\n");
}

TEST(CheckTogether, APresetIsAHarnessOfItsOwn) {
  const auto with_preset = [](auto change) {
    return after([&](Config& c) {
      c.rollouts.harness.python = "";
      c.rollouts.harness.preset = "codex";
      change(c.rollouts.harness);
    });
  };
  const std::string together =
      "rollouts.harness.preset: codex is given together with a command, a python function or external: true; "
      "leave one out\n";
  EXPECT_EQ(with_preset([](Harness& h) { h.prompt = "{task.question}"; }), "");
  EXPECT_EQ(with_preset([](Harness& h) { h.command = {"agent"}; }), together);
  EXPECT_EQ(with_preset([](Harness& h) { h.python = "/agent.py:solve"; }), together);
  EXPECT_EQ(with_preset([](Harness& h) { h.external = true; }), together);
  EXPECT_NE(with_preset([](Harness& h) { h.prompt = "{question}"; }).find("rollouts.harness.prompt: {question} in"),
            std::string::npos);
  EXPECT_EQ(after([](Config& c) { c.rollouts.harness.prompt = "do it"; }),
            "rollouts.harness.prompt: has no effect without rollouts.harness.preset\n");
}

TEST(CheckTogether, TemplatesAreKnown) {
  const auto with_word = [](const std::string& word) {
    return after([&](Config& c) {
      c.rollouts.harness.python = "";
      c.rollouts.harness.command = {word};
    });
  };
  EXPECT_EQ(with_word("{task.a.b} {base_url} {api_key} {rollout_id} {attempt} {task_file} {reward_file} "
                      "{work_folder} {home_folder} {config_folder} {{plain}} {\"json\": 1}"),
            "");
  EXPECT_EQ(with_word("--url={baseurl}")
                .find("rollouts.harness.command: {baseurl} in \"--url={baseurl}\" is none of "
                      "{task.KEY}, {base_url}, {api_key},"),
            0U);
  EXPECT_NE(with_word("{task}"), "");
  EXPECT_NE(after([](Config& c) { c.rollouts.harness.env = {{"A", "{nothing}"}}; }), "");
  EXPECT_EQ(after([](Config& c) { c.rollouts.harness.env = {{"A-B", "x"}}; }),
            "rollouts.harness.env: \"A-B\" is not the name of an environment variable\n");
}

TEST(CheckTogether, RewardsHaveTheirSourceAndNoOther) {
  EXPECT_EQ(after([](Config& c) { c.rollouts.reward.source = "python"; }),
            "rollouts.reward.python: must be file.py:function when rollouts.reward.source is python\n");
  EXPECT_EQ(after([](Config& c) { c.rollouts.reward.source = "command"; }),
            "rollouts.reward.command: is required when rollouts.reward.source is command\n");
  EXPECT_EQ(after([](Config& c) { c.rollouts.reward.python = "/r.py:f"; }),
            "rollouts.reward.python: has no effect when rollouts.reward.source is file\n");
  EXPECT_EQ(after([](Config& c) { c.rollouts.reward.command = {"grade"}; }),
            "rollouts.reward.command: has no effect when rollouts.reward.source is file\n");
}

// B = 4 groups an update. Age 2 allows (2 + 1) * 4 = 12 open groups.
TEST(CheckTogether, OpenGroupsAreBoundedByAge) {
  const auto with = [](const char* mode, std::uint32_t active, std::uint32_t age) {
    return after([&](Config& c) {
      c.coordinator.mode = mode;
      c.coordinator.policy_age_max = age;
      c.rollouts.groups_per_update = 4;
      c.rollouts.groups_active_max = active;
    });
  };
  EXPECT_EQ(with("sync", 0, 0), "");
  EXPECT_EQ(with("sync", 4, 0), "");
  EXPECT_EQ(
      with("sync", 5, 2),
      "rollouts.groups_active_max: 5 is above rollouts.groups_per_update (4), which needs coordinator.mode "
      "collocated_async\n");
  EXPECT_EQ(with("sync", 3, 0),
            "rollouts.groups_active_max: 3 is below rollouts.groups_per_update (4): no update could start\n");
  EXPECT_EQ(with("collocated_async", 12, 2), "");
  EXPECT_EQ(with("collocated_async", 13, 2),
            "rollouts.groups_active_max: 13 is above (coordinator.policy_age_max + 1) * "
            "rollouts.groups_per_update = "
            "12: groups would grow older than allowed\n");
  EXPECT_EQ(
      with("collocated_async", 4, 0),
      "coordinator.policy_age_max: must be at least 1 in collocated_async, which carries groups over\n");
}

TEST(CheckTogether, EngineAndTrainer) {
  EXPECT_EQ(
      after([](Config& c) { c.engine.step_tokens_max = 63; }),
      "engine.step_tokens_max: 63 is below engine.sequences_max (64): a step could not decode them all\n");
  EXPECT_EQ(after([](Config& c) { c.engine.context_tokens_max = 1024; }),
            "sampling.max_tokens: 1024 leaves no room for a prompt in engine.context_tokens_max (1024)\n");
  EXPECT_EQ(after([](Config& c) { c.trainer.warmup_updates = 11; }),
            "trainer.warmup_updates: 11 is above run.updates (10)\n");
  EXPECT_NE(after([](Config& c) { c.trainer.dual_clip = 1.0F; }), "");
  EXPECT_NE(after([](Config& c) { c.trainer.epsilon = 0.0F; }), "");
  EXPECT_EQ(after([](Config& c) { c.trainer.dual_clip = 0.0F; }), "");
  EXPECT_EQ(after([](Config& c) {
              c.trainer.replay_routing = true;
              c.engine.script = "/script.json";
              c.run.updates = 0;
            }),
            "trainer.replay_routing: needs a model with experts, and engine.script answers in its place: turn it off\n");
}

TEST(CheckTogether, AddressesAndNames) {
  const auto listens = [](const char* address) {
    return after([&](Config& c) { c.gateway.listen = address; });
  };
  EXPECT_EQ(listens("[::1]:0"), "");
  EXPECT_EQ(listens("127.0.0.1:65535"), "");
  EXPECT_EQ(listens("localhost"), "gateway.listen: \"localhost\" is not host:port\n");
  EXPECT_NE(listens("localhost:65536"), "");
  EXPECT_NE(listens("localhost:80x"), "");
  EXPECT_NE(listens(":80"), "");
  EXPECT_EQ(after([](Config& c) { c.run.name = "a/b"; }), "run.name: \"a/b\" is not a folder's name\n");
  EXPECT_NE(after([](Config& c) { c.run.name = ".."; }), "");
  EXPECT_EQ(after([](Config& c) { c.evaluation.every = 5; }), "evaluation.every: needs evaluation.tasks\n");
}

TEST(CheckTogether, TlsNeedsBothFiles) {
  EXPECT_EQ(after([](Config& c) { c.gateway.tls_certificate = "/c.pem"; }),
            "gateway.tls_private_key: is required with gateway.tls_certificate\n");
  EXPECT_EQ(after([](Config& c) { c.gateway.tls_private_key = "/k.pem"; }),
            "gateway.tls_certificate: is required with gateway.tls_private_key\n");
  EXPECT_EQ(after([](Config& c) { c.gateway.tls_certificate = "/c.pem", c.gateway.tls_private_key = "/k.pem"; }), "");
}

TEST(CheckTogether, ChannelsAreReadByOneParser) {
  const auto set = [](const char* calls, const char* reasoning) {
    return after([=](Config& c) { c.gateway.tool_parser = calls, c.gateway.reasoning_parser = reasoning; });
  };
  EXPECT_EQ(set("hermes", "openai"), "gateway.reasoning_parser: openai does not go with gateway.tool_parser: hermes; "
                                     "leave one of them auto\n");
  EXPECT_EQ(set("openai", "think"),
            "gateway.reasoning_parser: think does not go with gateway.tool_parser: openai; leave it auto\n");
  for (const char* calls : {"auto", "none", "openai"}) EXPECT_EQ(set(calls, "openai"), "");
  for (const char* reasoning : {"auto", "none"}) EXPECT_EQ(set("openai", reasoning), "");
}

TEST(CheckTogether, HostsAndOriginsHaveTheirForm) {
  EXPECT_EQ(after([](Config& c) {
              c.gateway.hosts = {"gpu-box", "gpu-box.example:8080", "[::1]:80"};
              c.gateway.cors_origins = {"https://board.example", "http://localhost:3000", "vscode-file://vscode-app"};
            }),
            "");
  for (const char* bad : {"", "http://gpu-box", "*", "*.example", "gpu box", "me@gpu-box"})
    EXPECT_EQ(after([&](Config& c) { c.gateway.hosts = {bad}; }),
              std::string("gateway.hosts: \"") + bad + "\" is not a host name, with or without :port\n");
  for (const char* bad : {"", "*", "null", "board.example", "https://", "https://board.example/", "https://*.example"})
    EXPECT_EQ(after([&](Config& c) { c.gateway.cors_origins = {bad}; }),
              std::string("gateway.cors_origins: \"") + bad +
                  "\" is not a web page's origin such as https://name:8443, without a path\n");
}

TEST(CheckTogether, EachModelNameHasOneRole) {
  const auto roles = [](std::vector<std::string> policy, std::vector<std::string> frozen,
                        std::map<std::string, std::string> upstream) {
    return after([&](Config& c) {
      c.gateway.model_names = std::move(policy);
      c.gateway.frozen_names = std::move(frozen);
      c.gateway.upstream_urls = std::move(upstream);
    });
  };
  EXPECT_EQ(roles({"main"}, {"judge"}, {{"big", "https://models.example/v1"}}), "");
  EXPECT_EQ(roles({"a"}, {"a"}, {}),
            "gateway.frozen_names: \"a\" is in gateway.model_names too, as the policy; leave one out\n");
  EXPECT_EQ(roles({}, {"a"}, {{"a", "http://x/v1"}}),
            "gateway.upstream_urls: \"a\" is in gateway.frozen_names too; leave one out\n");
  EXPECT_EQ(roles({"a"}, {}, {{"a", "http://x/v1"}}),
            "gateway.upstream_urls: \"a\" is in gateway.model_names too; leave one out\n");
  EXPECT_NE(roles({}, {""}, {}), "");
  EXPECT_NE(roles({}, {}, {{"", "http://x"}}), "");
  EXPECT_EQ(roles({}, {}, {{"a", "x/v1"}}), "gateway.upstream_urls: \"x/v1\" is no URL such as https://host:8000/v1: "
                                            "it begins with neither http:// nor https://\n");
}

TEST(CheckTogether, AnUpstreamKeyNeedsAServerAndFitsAHeader) {
  const auto with_key = [](std::string key, std::map<std::string, std::string> urls) {
    return after([&](Config& c) {
      c.gateway.upstream_key = std::move(key);
      c.gateway.upstream_urls = std::move(urls);
    });
  };
  EXPECT_EQ(with_key("sk-1", {{"a", "http://x/v1"}}), "");
  EXPECT_EQ(with_key("sk-1", {}), "gateway.upstream_key: has no effect without gateway.upstream_urls\n");
  EXPECT_NE(with_key("sk\r\nX: y", {{"a", "http://x/v1"}}), "");
}
}  // namespace
}  // namespace corisco::config
