#include "gateway/checkpoint_route.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "corisco/base/json.h"
#include "gateway/signal.h"

namespace corisco::gateway {
namespace asio = boost::asio;
namespace {
// Outlives a request that does not wait to the end.
struct Asked {
  explicit Asked(const asio::any_io_executor& executor) : changed(executor) {}
  Signal changed;
  std::optional<Result<coordinator::Checkpoint>> answer;
};

Reply shown(int status, const char* state, PolicyVersion version, nlohmann::ordered_json folder) {
  Reply reply;
  reply.status = status;
  reply.body = json_text(
      nlohmann::ordered_json{{"state", state}, {"policy_version", version.value}, {"checkpoint", std::move(folder)}});
  return reply;
}
}  // namespace

asio::awaitable<OrApiError<Reply>> write_checkpoint(const ServerParts& parts, Peer& peer) {
  const auto asked = std::make_shared<Asked>(peer.executor());
  peer.on_gone([asked] { asked->changed.notify(); });
  parts.checkpoint([asked](const Result<coordinator::Checkpoint>& answer) {
    asked->answer.emplace(answer);
    asked->changed.notify();
  });
  const auto deadline = real_clock().now() + parts.checkpoint_wait;
  while (!asked->answer && !peer.is_gone() && real_clock().now() < deadline)
    co_await asked->changed.wait_until(deadline);
  peer.on_gone(nullptr);
  if (!asked->answer) co_return shown(202, "pending", parts.generator->policy_version(), nullptr);
  if (!asked->answer->ok()) co_return from_error(asked->answer->error());
  const auto& checkpoint = asked->answer->value();
  const char* state = checkpoint.was_there ? "existed" : "written";
  co_return shown(200, state, checkpoint.version, checkpoint.folder);
}
}  // namespace corisco::gateway
