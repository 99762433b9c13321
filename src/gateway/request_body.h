// The body of a model request, as it came or already as JSON, so that who must look into it before it is read
// spares its reader the parsing. Owned by whoever reads it next; any thread, one at a time.
#pragma once
#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>

#include "gateway/api_error.h"

namespace corisco::gateway {
class TextWorker;

class RequestBody {
 public:
  using Parsed = OrApiError<nlohmann::ordered_json>;   // an object, or why it is none

  RequestBody(std::string text) : num_bytes_(text.size()), text_(std::move(text)) {}   // NOLINT: a text is one
  // Takes the text's place.
  RequestBody(std::size_t num_bytes, std::shared_ptr<const Parsed> json)
      : num_bytes_(num_bytes), json_(std::move(json)) {}

  std::size_t num_bytes() const { return num_bytes_; }
  const std::string& text() const { return text_; }    // empty where only the JSON is left
  // Parses the text if nobody has: on the text thread, if it is long.
  std::shared_ptr<const Parsed> json() const;

 private:
  std::size_t num_bytes_;
  std::string text_;
  std::shared_ptr<const Parsed> json_;   // null: not parsed
};

// For a route that reads it on the io thread: a long one comes back parsed.
boost::asio::awaitable<RequestBody> parse_if_long(TextWorker& worker, RequestBody body);
}  // namespace corisco::gateway
