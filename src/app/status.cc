#include "app/status.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
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
namespace ssl = boost::asio::ssl;
namespace {
struct Address {
  bool is_https = false;
  std::string host, port;
};

Address address_of(std::string_view url) {
  Address address;
  address.is_https = starts_with(url, "https://");
  if (const auto scheme = url.find("://"); scheme != std::string_view::npos) url.remove_prefix(scheme + 3);
  url = url.substr(0, url.find('/'));
  const auto colon = url.rfind(':');
  address.host = url.substr(0, colon);
  address.port = colon != std::string_view::npos ? url.substr(colon + 1) : address.is_https ? "443" : "80";
  return address;
}

template <class Stream>
std::string reply_to(Stream& stream, const beast::http::request<beast::http::empty_body>& request) {
  beast::http::write(stream, request);
  beast::flat_buffer buffer;
  beast::http::response<beast::http::string_body> response;
  beast::http::read(stream, buffer, response);
  if (response.result() != beast::http::status::ok)
    throw std::runtime_error(cat("the daemon answered ", response.result_int(), ": ", response.body()));
  return response.body();
}

// Throws what Asio and Beast throw. A certificate is checked against the system's authorities, or
// those in the file that SSL_CERT_FILE names.
std::string get(const Address& address, const std::string& target) {
  boost::asio::io_context io;
  beast::tcp_stream stream(io);
  stream.expires_after(std::chrono::seconds(5));
  stream.connect(boost::asio::ip::tcp::resolver(io).resolve(address.host, address.port));
  beast::http::request<beast::http::empty_body> request{beast::http::verb::get, target, 11};
  request.set(beast::http::field::host, cat(address.host, ":", address.port));
  if (const char* key = std::getenv("CORISCO_ADMIN_KEY")) request.set(beast::http::field::authorization, cat("Bearer ", key));
  if (!address.is_https) return reply_to(stream, request);
  ssl::context context(ssl::context::tls_client);
  context.set_default_verify_paths();
  ssl::stream<beast::tcp_stream> secure(std::move(stream), context);
  secure.set_verify_mode(ssl::verify_peer);
  secure.set_verify_callback(ssl::host_name_verification(address.host));
  secure.handshake(ssl::stream_base::client);
  return reply_to(secure, request);
}
}  // namespace

int print_status(const std::string& url) {
  try {
    const auto state = parse_ordered_json(get(address_of(url), "/admin/state"));
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
