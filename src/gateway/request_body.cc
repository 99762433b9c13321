#include "gateway/request_body.h"

#include "gateway/json_fields.h"
#include "gateway/text_worker.h"

namespace corisco::gateway {
std::shared_ptr<const RequestBody::Parsed> RequestBody::json() const {
  if (json_) return json_;
  return std::make_shared<const Parsed>(parse_json_object(text_));
}

boost::asio::awaitable<RequestBody> parse_if_long(TextWorker& worker, RequestBody body) {
  const auto size = body.num_bytes();
  if (size <= TextWorker::kBytesInPlaceMax) co_return body;
  auto parse = [size, body = std::move(body)] { return RequestBody(size, body.json()); };
  auto parsed = co_await worker.run(size, std::move(parse));
  co_return parsed;
}
}  // namespace corisco::gateway
