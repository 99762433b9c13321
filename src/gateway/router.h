// Decides from a request's head what it is and who sends it, and answers it once its body is there.
// Owned by the server; io thread.
#pragma once
#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string>

#include "gateway/agent_lightning/api.h"
#include "gateway/auth.h"
#include "gateway/browser_check.h"
#include "gateway/call_context.h"
#include "gateway/reply_writer.h"
#include "gateway/request_body.h"
#include "gateway/routes.h"
#include "gateway/upstream_pool.h"

namespace corisco::gateway {
// What the head alone decides.
struct Plan {
  Route route;
  Caller caller;
  std::optional<Reply> refusal;          // answered instead, the body is read only to be discarded
  std::uint64_t body_bytes_max = 0;
  HeaderList headers;                    // of the reply, whatever it is
};

class Router {
 public:
  explicit Router(CallContext& context);
  Plan plan(const Head& head, bool is_loopback);
  // While gateway.connections_max are open: what is not short is refused.
  Plan plan_when_full(const Head& head, bool is_loopback);
  boost::asio::awaitable<void> answer(Plan plan, const Head& head, std::string body, ReplyWriter& reply);
  // Closes what waits for later requests.
  void stop() { upstream_->stop(); }

 private:
  std::optional<Reply> answer_to_browser(const Head& head, RouteKind kind) const;
  boost::asio::awaitable<void> answer_model(Plan plan, const Head& head, std::string text, ReplyWriter& reply);
  bool may_be_passed_on(const Plan& plan) const;
  boost::asio::awaitable<OrApiError<Reply>> short_answer(const Plan& plan, const Head& head, RequestBody body,
                                                         Peer& peer) const;
  OrApiError<Reply> quick_answer(const Plan& plan, const Head& head, const RequestBody& body) const;
  OrApiError<Reply> admin_answer(const Plan& plan) const;
  Reply front_page() const;
  Reply models(ErrorShape shape) const;

  CallContext& context_;
  const ServerParts& parts_;
  BrowserCheck browsers_;
  lightning::Api lightning_;
  std::shared_ptr<UpstreamPool> upstream_;
};
}  // namespace corisco::gateway
