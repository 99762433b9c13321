// Connections to another server that serve several requests, and what is sent twice: nothing that was replied to.
#include <array>
#include <future>

#include "gateway/upstream_fixture.h"
#include "gateway/upstream_reply.h"

namespace corisco::gateway::fakes {
namespace {
struct KeptUpstreamTest : UpstreamTest {
  RawReply ask_judge() { return ask(post("/v1/chat/completions", body_for("judge"))); }
  int num_seen = 0;                      // the upstream's thread
};

TEST_F(KeptUpstreamTest, RequestsShareAConnection) {
  FakeUpstream upstream([this](auto& visit) {
    visit.keep_open();
    if (num_seen++ == 1) visit.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n");
    else visit.send(whole_reply("{}"));
  });
  pass_on_to(upstream.port());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask_judge().body, "{}") << i;
  EXPECT_EQ(upstream.requests().size(), 3U);
  EXPECT_EQ(upstream.num_connections(), 1);
  EXPECT_EQ(upstream.requests()[0].find("Connection:"), std::string::npos);
}

TEST_F(KeptUpstreamTest, OneThatItsServerClosedIsReplaced) {
  FakeUpstream upstream([](auto& visit) { visit.send(whole_reply("{}")); });   // and closes
  pass_on_to(upstream.port());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask_judge().status, 200) << i;
  EXPECT_EQ(upstream.requests().size(), 3U);
  EXPECT_EQ(upstream.num_connections(), 3);
}

// As when the server closes it while the request is on its way.
TEST_F(KeptUpstreamTest, OneThatEndsBeforeTheReplysFirstByteIsAskedAgainElsewhere) {
  FakeUpstream upstream([this](auto& visit) {
    if (num_seen++ == 1) return;
    visit.keep_open();
    visit.send(whole_reply("{}"));
  });
  pass_on_to(upstream.port());
  EXPECT_EQ(ask_judge().status, 200);
  EXPECT_EQ(ask_judge().status, 200);
  const auto sent = upstream.requests();
  ASSERT_EQ(sent.size(), 3U);
  EXPECT_EQ(sent[2], sent[1]);
  EXPECT_EQ(upstream.num_connections(), 2);
  EXPECT_TRUE(eventually([this] { return count("200") == 2; }));
  EXPECT_DOUBLE_EQ(count("upstream_broken"), 0);
}

TEST_F(KeptUpstreamTest, OnceOnly) {
  FakeUpstream upstream([this](auto& visit) {
    if (num_seen++ > 0) return;
    visit.keep_open();
    visit.send(whole_reply("{}"));
  });
  pass_on_to(upstream.port());
  EXPECT_EQ(ask_judge().status, 200);
  EXPECT_EQ(ask_judge().status, 502);
  EXPECT_EQ(upstream.requests().size(), 3U);
}

TEST_F(KeptUpstreamTest, NotAfterAByteOfTheReply) {
  FakeUpstream upstream([this](auto& visit) {
    if (num_seen++ == 1) {
      visit.send("H");
      return;
    }
    visit.keep_open();
    visit.send(whole_reply("{}"));
  });
  pass_on_to(upstream.port());
  EXPECT_EQ(ask_judge().status, 200);
  EXPECT_EQ(ask_judge().status, 502);
  EXPECT_EQ(upstream.requests().size(), 2U);
  EXPECT_TRUE(eventually([this] { return count("upstream_broken") == 1; }));
}

TEST_F(KeptUpstreamTest, NotOnANewConnection) {
  FakeUpstream upstream([](auto&) {});
  pass_on_to(upstream.port());
  const auto reply = ask_judge();
  EXPECT_EQ(reply.status, 502);
  EXPECT_EQ(parse_json(reply.body)["error"]["code"], "upstream_broken");
  EXPECT_EQ(upstream.requests().size(), 1U);
}

TEST_F(KeptUpstreamTest, NoneIsKeptAfterAStreamThatWasCut) {
  std::promise<bool> left;
  FakeUpstream upstream([&](auto& visit) {
    visit.keep_open();
    if (num_seen++ > 0) return visit.send(whole_reply("{}"));
    visit.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n");
    left.set_value(visit.is_left_by_client());
  });
  pass_on_to(upstream.port());
  {
    RawClient client(port);
    client.send(post("/v1/chat/completions", body_for("judge")));
    ASSERT_TRUE(client.wait_for("data: 1"));
  }
  auto answer = left.get_future();
  ASSERT_EQ(answer.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_TRUE(answer.get());
  EXPECT_EQ(ask_judge().body, "{}");
  EXPECT_EQ(upstream.num_connections(), 2);
}

// Whether the connection may be used again when these bytes have come, and then whether the reply is whole at its end.
TEST(UpstreamReplyTest, KeepsAConnectionThatIsCleanAndStaysOpen) {
  struct Case {
    const char* bytes;
    bool keeps_alive, is_whole_at_end;
  };
  constexpr std::array cases = {
      Case{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", true, true},
      Case{"HTTP/1.1 204 No Content\r\n\r\n", true, true},
      Case{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{", false, false},
      Case{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}", false, true},
      Case{"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}", false, true},
      Case{"HTTP/1.1 200 OK\r\n\r\n{}", false, true},                                // to the end
      Case{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 408", false, true},
      Case{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", true, true},
      Case{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n", false, false},
      Case{"HTTP/1.1 100 Continue\r\n\r\n", false, false},
      Case{"", false, false},
  };
  for (const auto& one : cases) {
    UpstreamReply reply;
    EXPECT_TRUE(reply.push(one.bytes)) << one.bytes;
    EXPECT_EQ(reply.has_head() && reply.keeps_alive(), one.keeps_alive) << one.bytes;
    EXPECT_EQ(reply.finish(), one.is_whole_at_end) << one.bytes;
  }
}
}  // namespace
}  // namespace corisco::gateway::fakes
