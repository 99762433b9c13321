#include "app/status.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "app/exit_codes.h"
#include "corisco/base/json.h"
#include "corisco/base/strings.h"

namespace corisco::app {
namespace beast = boost::beast;
namespace {
// Throws what Asio and Beast throw.
std::string get(const std::string& host, const std::string& port, const std::string& target) {
  boost::asio::io_context io;
  beast::tcp_stream stream(io);
  stream.expires_after(std::chrono::seconds(5));
  stream.connect(boost::asio::ip::tcp::resolver(io).resolve(host, port));
  beast::http::request<beast::http::empty_body> request{beast::http::verb::get, target, 11};
  request.set(beast::http::field::host, cat(host, ":", port));
  if (const char* key = std::getenv("CORISCO_ADMIN_KEY")) request.set(beast::http::field::authorization, cat("Bearer ", key));
  beast::http::write(stream, request);
  beast::flat_buffer buffer;
  beast::http::response<beast::http::string_body> response;
  beast::http::read(stream, buffer, response);
  if (response.result() != beast::http::status::ok)
    throw std::runtime_error(cat("the daemon answered ", response.result_int(), ": ", response.body()));
  return response.body();
}
}  // namespace

int print_status(const std::string& url) {
  std::string_view rest = url;
  if (starts_with(rest, "http://")) rest.remove_prefix(7);
  rest = rest.substr(0, rest.find('/'));
  const auto colon = rest.rfind(':');
  const std::string host(rest.substr(0, colon));
  const std::string port(colon == std::string_view::npos ? "80" : rest.substr(colon + 1));
  try {
    const auto state = parse_ordered_json(get(host, port, "/admin/state"));
    if (!state.is_object()) throw std::runtime_error("the reply is not a JSON object");
    for (const auto& [name, value] : state.items())
      std::printf("%-18s %s\n", name.c_str(), value.is_string() ? value.get<std::string>().c_str() : json_text(value).c_str());
    return kExitDone;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "no answer from %s: %s\nIs the daemon running there? CORISCO_ADMIN_KEY holds the key, if one is set.\n",
                 url.c_str(), error.what());
    return kExitFailed;
  }
}
}  // namespace corisco::app
