// Whole requests off a connection, through the real reader and a socket: the same requests however
// the bytes arrive, and each body is what a second, simple reading of the same bytes gives.
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>

#include "fuzz/fuzz.h"
#include "gateway/ascii.h"
#include "gateway/request_reader.h"
#include "gateway/transport.h"

namespace corisco::gateway {
namespace {
namespace asio = boost::asio;
using fuzz::require;
constexpr std::uint64_t kBodyBytesMax = 512;

struct Seen {
  struct Request {
    Head head;
    std::string body;
  };
  std::vector<Request> requests;
  int status = 0;                        // of the refusal that ended it; 0: the bytes did
  bool is_over = false;
};

asio::awaitable<bool> say_nothing() { co_return true; }

asio::awaitable<void> read_all(RequestReader& reader, Seen& seen) {
  for (;;) {
    auto head = co_await reader.read_head();
    if (const auto* error = std::get_if<ApiError>(&head)) seen.status = error->status;
    if (!std::holds_alternative<Head>(head)) break;
    auto& read = std::get<Head>(head);
    auto body = co_await reader.read_body(read, kBodyBytesMax, say_nothing);
    if (const auto* error = std::get_if<ApiError>(&body)) seen.status = error->status;
    if (!std::holds_alternative<std::string>(body)) break;
    seen.requests.push_back({std::move(read), std::move(std::get<std::string>(body))});
  }
  seen.is_over = true;
}

Seen read(const std::vector<std::string_view>& pieces) {
  static const config::Gateway options;
  int ends[2];
  require(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "a pair of sockets");
  asio::io_context io(1);
  const auto transport = plain_transport(asio::ip::tcp::socket(io, asio::ip::tcp::v4(), ends[0]));
  auto& socket = transport->socket();
  socket.non_blocking(true);
  Inbox inbox(*transport, 65536);
  inbox.start({});
  RequestReader reader(inbox, options, options.idle_seconds_max);
  Seen seen;
  asio::co_spawn(io, read_all(reader, seen), [](std::exception_ptr failure) {
    if (failure) std::rethrow_exception(failure);
  });
  for (const auto piece : pieces) {
    require(::send(ends[1], piece.data(), piece.size(), 0) == static_cast<ssize_t>(piece.size()), "a whole piece sent");
    io.poll();
  }
  ::close(ends[1]);
  io.restart();
  io.poll();
  require(seen.is_over, "still waiting after the peer has gone");
  socket.close();
  io.restart();
  io.poll();
  return seen;
}

// Takes a body in chunks off the bytes by the letter of RFC 9112 section 7.1; false: it is none.
bool take_chunks(std::string_view& bytes, std::string& body) {
  const auto take_line = [&](std::string_view& line) {
    const auto end = bytes.find("\r\n");
    line = bytes.substr(0, end);
    bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 2);
    return end != std::string_view::npos && line.find_first_of("\r\n") == std::string_view::npos;
  };
  for (std::string_view line; take_line(line);) {
    std::size_t size = 0, digits = 0;
    for (; digits < line.size() && std::isxdigit(static_cast<unsigned char>(line[digits])) != 0; ++digits)
      size = size * 16 + static_cast<std::size_t>(std::stoi(std::string(1, line[digits]), nullptr, 16));
    const auto extension = ascii::trim_blanks(line.substr(digits));
    if (digits == 0 || digits > 16 || (!extension.empty() && extension.front() != ';')) return false;
    if (size == 0) {
      while (take_line(line))
        if (line.empty()) return true;
      return false;
    }
    if (bytes.size() < size + 2 || bytes.substr(size, 2) != "\r\n") return false;
    body += bytes.substr(0, size);
    bytes.remove_prefix(size + 2);
  }
  return false;
}

void check_against_second_reading(std::string_view bytes, const Seen& seen) {
  for (const auto& request : seen.requests) {
    const auto scan = scan_head(bytes, HeadLimits{});
    require(scan.size > 0, "a request where there is no head");
    bytes.remove_prefix(scan.leading + scan.size);
    std::string body;
    if (request.head.is_chunked) {
      require(take_chunks(bytes, body), "accepted chunks that are none");
    } else {
      const auto length = request.head.content_length.value_or(0);
      require(bytes.size() >= length, "a body that had not come");
      body = bytes.substr(0, length);
      bytes.remove_prefix(length);
    }
    require(body == request.body, "another body: ", request.body);
    require(body.size() <= kBodyBytesMax, "a body above its limit");
  }
}
}  // namespace
}  // namespace corisco::gateway

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace corisco::gateway;
  corisco::fuzz::Input input(data, size);
  const auto seed = input.byte();
  const auto bytes = input.rest(2048);
  const auto whole = read(bytes.empty() ? std::vector<std::string_view>() : std::vector{bytes});
  check_against_second_reading(bytes, whole);
  const auto cut = read(corisco::fuzz::pieces_of(bytes, seed));
  corisco::fuzz::require(cut.requests.size() == whole.requests.size() && cut.status == whole.status, "cut: ",
                         cut.requests.size(), " requests and ", cut.status, ", whole: ", whole.requests.size(), " and ",
                         whole.status);
  for (std::size_t i = 0; i < cut.requests.size(); ++i)
    corisco::fuzz::require(cut.requests[i].body == whole.requests[i].body, "another body when cut");
  return 0;
}
