// Which path is what, and whose key opens it.
#include <gtest/gtest.h>

#include "gateway/attempt_state.h"
#include "gateway/auth.h"
#include "gateway/routes.h"

namespace corisco::gateway {
namespace {
TEST(Routes, TheModelIsServedPlainAndUnderAnAttempt) {
  EXPECT_EQ(find_route("/v1/chat/completions").kind, RouteKind::chat_completions);
  const auto route = find_route("/rollout/7/attempt/2/v1/chat/completions?x=1");
  EXPECT_EQ(route.kind, RouteKind::chat_completions);
  EXPECT_EQ(route.attempt, (AttemptKey{RolloutId{7}, 2}));
  EXPECT_EQ(find_route("/v1/models/org%2Fname").model_id, "org/name");
  EXPECT_EQ(find_route("/v1/models/org/name").model_id, "org/name");
  EXPECT_EQ(find_route("/rollout/7/attempt/2/v1/completions").kind, RouteKind::completions);
  EXPECT_EQ(find_route("/v1/messages?beta=true").kind, RouteKind::messages);
  EXPECT_EQ(find_route("/rollout/7/attempt/2/v1/messages/count_tokens?beta=true").kind, RouteKind::count_tokens);
  EXPECT_EQ(find_route("/rollout/7/attempt/2/v1/responses").kind, RouteKind::responses);
  EXPECT_EQ(find_route("/v1/responses/resp_1").kind, RouteKind::unknown);
  EXPECT_EQ(find_route("/v1/embeddings").kind, RouteKind::unsupported_model_route);
  EXPECT_EQ(find_route("/rollout/7/attempt/2/events").kind, RouteKind::events);
  EXPECT_EQ(find_route("/admin/rollouts/7/attempt/2/finish").kind, RouteKind::admin_finish_attempt);
  EXPECT_EQ(find_route("/admin/checkpoint").kind, RouteKind::admin_checkpoint);
  EXPECT_TRUE(is_admin_route(RouteKind::admin_checkpoint));
}

TEST(Routes, AnAttemptHasOnePath) {
  for (const auto* path : {"/rollout/07/attempt/2/v1/models", "/rollout/0/attempt/1/v1/models",
                           "/rollout/7/attempt/x/v1/models", "/rollout/7/attempt/2x/v1/models",
                           "/rollout/99999999999999999999/attempt/1/v1/models", "/rollout/7/attempt/2",
                           "/rollout/7/attempt/2/metrics", "/admin/rollouts/7/attempt/2", "//v1/models"})
    EXPECT_EQ(find_route(path).kind, RouteKind::unknown) << path;
}

TEST(Routes, Methods) {
  EXPECT_TRUE(allows_method(RouteKind::models, "HEAD"));
  EXPECT_FALSE(allows_method(RouteKind::models, "POST"));
  EXPECT_FALSE(allows_method(RouteKind::chat_completions, "GET"));
  EXPECT_FALSE(allows_method(RouteKind::completions, "GET"));
  EXPECT_FALSE(allows_method(RouteKind::messages, "GET"));
  EXPECT_FALSE(allows_method(RouteKind::responses, "GET"));
  EXPECT_TRUE(allows_method(RouteKind::count_tokens, "POST"));
  EXPECT_FALSE(allows_method(RouteKind::admin_checkpoint, "GET"));
}

struct AuthTest : testing::Test {
  Attempts attempts;
  config::Gateway options;
  std::string key = attempts.open({{RolloutId{7}, 2}, Mode::train, 0, 0, 0, 0, 0});

  // The status, and 200 + 100 if the caller is an attempt.
  int ask(const char* path, const std::string& with) {
    const auto caller = identify(find_route(path), with, attempts, options);
    if (const auto* error = std::get_if<ApiError>(&caller)) return error->status;
    return std::get<Caller>(caller).attempt ? 300 : 200;
  }
  int admin(const std::string& with, bool is_loopback) {
    const auto caller = identify_admin(with, is_loopback, attempts, options);
    const auto* error = std::get_if<ApiError>(&caller);
    return error ? error->status : 200;
  }
};

TEST_F(AuthTest, KeysHaveTheirShape) {
  EXPECT_EQ(key.size(), 44U);
  EXPECT_EQ(key.substr(0, 4), "cor-");
  EXPECT_NE(key, attempts.open({{RolloutId{8}, 1}, Mode::train, 0, 0, 0, 0, 0}));
}

TEST_F(AuthTest, AnAttemptIsKnownByKeyOrByPathWithItsKey) {
  EXPECT_EQ(ask("/v1/models", key), 300);
  EXPECT_EQ(ask("/rollout/7/attempt/2/v1/models", key), 300);
  EXPECT_EQ(ask("/rollout/7/attempt/2/v1/models", ""), 401);
  EXPECT_EQ(ask("/rollout/7/attempt/2/v1/models", "other"), 401);
  const auto other = attempts.open({{RolloutId{8}, 1}, Mode::train, 0, 0, 0, 0, 0});
  EXPECT_EQ(ask("/rollout/7/attempt/2/v1/models", other), 401);
  EXPECT_EQ(ask("/rollout/9/attempt/1/v1/models", key), 404);
  attempts.close({RolloutId{7}, 2});
  EXPECT_EQ(ask("/rollout/7/attempt/2/v1/models", key), 409);
  EXPECT_EQ(ask("/v1/models", key), 401);
  EXPECT_EQ(attempts.size(), 1U);
}

TEST_F(AuthTest, OutsideAnyRollout) {
  EXPECT_EQ(ask("/v1/models", ""), 200);
  EXPECT_EQ(ask("/v1/models", "whatever"), 200);
  options.static_key = "secret";
  EXPECT_EQ(ask("/v1/models", ""), 401);
  EXPECT_EQ(ask("/v1/models", "wrong1"), 401);
  EXPECT_EQ(ask("/v1/models", "secret"), 200);
  options.unscoped = "refuse";
  EXPECT_EQ(ask("/v1/models", "secret"), 401);
  EXPECT_EQ(ask("/v1/models", key), 300);
}

TEST_F(AuthTest, AdminNeedsItsKeyOrLoopback) {
  EXPECT_EQ(admin("", true), 200);
  EXPECT_EQ(admin("", false), 403);
  EXPECT_EQ(admin(key, true), 403);      // a harness runs on this machine too
  options.admin_key = "admin";
  EXPECT_EQ(admin("", true), 401);
  EXPECT_EQ(admin("other", true), 401);
  EXPECT_EQ(admin("admin", false), 200);
}

TEST_F(AuthTest, AnObserverLooksAndChangesNothing) {
  const auto observer = [this](const std::string& with) {
    const auto caller = identify_observer(with, options);
    const auto* error = std::get_if<ApiError>(&caller);
    return error ? error->status : 200;
  };
  EXPECT_EQ(observer(""), 200);
  EXPECT_FALSE(is_observer("", options));
  options.observer_key = "eyes";
  options.admin_key = "admin";
  const std::pair<const char*, int> keys[] = {{"", 401}, {"wrong", 401}, {"eyes", 200}, {"admin", 200}};
  for (const auto& [with, status] : keys) EXPECT_EQ(observer(with), status) << with;
  EXPECT_EQ(observer(key), 401) << "a harness has no business there";
  EXPECT_TRUE(is_observer("eyes", options));
  EXPECT_EQ(admin("eyes", true), 401);
}

TEST(Auth, WhereKeysAreLookedFor) {
  Head head;
  EXPECT_EQ(presented_key(head), "");
  head.fields = {{"x-api-key", "x"}};
  EXPECT_EQ(presented_key(head), "x");
  head.fields = {{"x-api-key", "x"}, {"authorization", "bearer  b"}};
  EXPECT_EQ(presented_key(head), "b");
  head.fields = {{"authorization", "Basic abc"}};
  EXPECT_EQ(presented_key(head), "");
}

TEST(HeldTime, ParallelWaitsCountOnce) {
  HeldTime held;
  const auto at = [](int s) { return TimePoint(std::chrono::seconds(s)); };
  held.begin(at(0));
  held.begin(at(2));
  EXPECT_DOUBLE_EQ(held.seconds(at(3)), 3);
  held.end(at(4));
  held.end(at(5));
  EXPECT_DOUBLE_EQ(held.seconds(at(9)), 5);
  held.begin(at(10));
  EXPECT_DOUBLE_EQ(held.seconds(at(11)), 6);
}
}  // namespace
}  // namespace corisco::gateway
