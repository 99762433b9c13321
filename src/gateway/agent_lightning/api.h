// Agent Lightning's HTTP API, so that its agents, controllers and clients work here with another URL:
// rollouts of the run whose harnesses run elsewhere are found, started and ended through it, and
// anybody may open validation rollouts of tasks of their own. What it has and the daemon cannot honour
// is refused by name. Its one key is the admin's; under a rollout's paths that rollout's own does too.
// Owned by the router; io thread.
#pragma once
#include <boost/asio/awaitable.hpp>
#include <string>
#include <vector>

#include "gateway/agent_lightning/objects.h"
#include "gateway/agent_lightning/records.h"
#include "gateway/auth.h"
#include "gateway/call_context.h"
#include "gateway/reply_writer.h"
#include "gateway/request_body.h"

namespace corisco::gateway::lightning {
class Api {
 public:
  explicit Api(CallContext& context) : context_(context), parts_(context.parts) {}

  // For any route with a lightning path. A rollout that waits for its harness is started by its first
  // call: then its harness is there.
  OrApiError<Caller> identify(const Route& route, const std::string& key, bool is_loopback);
  // Of its own routes. server_url: as the client reached us.
  boost::asio::awaitable<Reply> answer(Route route, Caller caller, std::string method, std::string target,
                                       RequestBody body, std::string server_url);

 private:
  struct NewRollout {
    std::string input_json;
    Record record;
  };
  using NewRollouts = std::vector<NewRollout>;
  struct Patch {
    std::optional<std::string> state, k8s_job_name, last_attempt, error_message;
  };

  OrApiError<Caller> find_caller(const Route& route, const std::string& key, bool is_loopback);
  OrApiError<Caller> call_attempt(const LightningPath& path);
  boost::asio::awaitable<OrApiError<Reply>> find_answer(const Route& route, const Caller& caller,
                                                        const std::string& method, const std::string& target,
                                                        RequestBody body, const std::string& server_url);

  // api_rollouts.cc
  // What a reply shows of a rollout, copied, so that it can be made on another thread.
  struct Listed {
    RolloutStatus status;
    std::optional<Record> record;        // without its events
    std::string name;
    bool has_begun = false;
  };
  enum class Wrapping : std::uint8_t { list, detail, bare };
  Listed listed_of(RolloutStatus status) const;
  boost::asio::awaitable<Reply> show(int http_status, Wrapping wrapping, std::vector<Listed> listed) const;
  boost::asio::awaitable<OrApiError<Reply>> create(RequestBody body);
  static OrApiError<NewRollouts> read_new(const std::string& body);
  static OrApiError<NewRollout> read_new_one(const Json& item);
  OrApiError<Listed> open(NewRollout wanted);
  boost::asio::awaitable<OrApiError<Reply>> list(std::string target) const;
  boost::asio::awaitable<OrApiError<Reply>> list_terminal(std::string target) const;
  boost::asio::awaitable<OrApiError<Reply>> show_one(std::string name) const;
  boost::asio::awaitable<OrApiError<Reply>> patch(std::string name, RequestBody body);
  static OrApiError<Patch> read_patch(const RequestBody& body);
  OrApiError<RolloutStatus> apply(const RolloutStatus& status, Patch patch);
  std::optional<ApiError> move(const RolloutStatus& status, const Patch& patch);
  OrApiError<Reply> drop(const std::string& name);

  // api_events.cc
  OrApiError<Reply> post_event(const LightningPath& path, const Caller& caller, const RequestBody& body);
  std::optional<ApiError> post_reward(AttemptKey attempt, Json& data);
  boost::asio::awaitable<OrApiError<Reply>> list_events(std::string name, std::string target, std::string server_url);

  // api_models.cc
  OrApiError<Reply> models(const std::string& method, const std::string& server_url) const;
  OrApiError<Reply> pause(RouteKind kind, const RequestBody& body);

  std::optional<RolloutStatus> find(const std::string& name, const std::string& attempt = "0") const;
  // The record of an attempt that gets so many bytes more; null: there is no room.
  Record* record_for(AttemptKey attempt, std::size_t bytes);
  std::optional<ApiError> start(AttemptKey attempt);

  CallContext& context_;
  const ServerParts& parts_;
  Records records_;
  std::int64_t retry_after_seconds_ = 5;   // as told; here requests are held, so nobody waits it out
  std::string pause_reason_;
};

// Shared by the API's parts.
Reply json_reply(int status, const Json& body);
ApiError not_found(const std::string& message);
ApiError unprocessable(const std::string& field, const std::string& message);
ApiError not_served(const std::string& message);
ApiError no_room();
ApiError no_such_rollout();
bool is_state(std::string_view text);   // of a rollout, in the API's words
}  // namespace corisco::gateway::lightning
