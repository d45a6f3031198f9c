#include "net/client.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "support/client_rig.hpp"
#include "support/raw_server.hpp"

namespace millrace::net {
namespace {

using namespace std::chrono_literals;
using test::ClientRig;
using test::Peer;
using test::RawServer;
using test::Recorder;

constexpr std::string_view stream_head =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

TEST(Client, GetsAResponse) {
  RawServer server([](Peer& peer) {
    const std::string request = peer.read_request();
    peer.write(
        test::response(200, "X-Seen: " + request.substr(0, request.find('\r')) + "\r\n", "hello"));
  });
  ClientRig rig;
  const auto recorder = rig.get(server.url("/a?b=c#d"));
  EXPECT_EQ(recorder->outcome(), "ok");
  EXPECT_EQ(recorder->body(), "hello");
  const ResponseHead head = recorder->head();
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.reason, "X");
  EXPECT_EQ(head.url, server.url("/a?b=c"));
  EXPECT_FALSE(head.redirected);
  ASSERT_EQ(head.headers.size(), 2U);
  EXPECT_EQ(head.headers[0].name, "X-Seen");
  EXPECT_EQ(head.headers[0].value, "GET /a?b=c HTTP/1.1");
}

TEST(Client, SendsMethodHeadersAndBody) {
  std::promise<std::string> seen;
  RawServer server([&](Peer& peer) {
    seen.set_value(peer.read_request());
    peer.write(test::response(201, "", ""));
  });
  ClientRig rig;
  Request request;
  request.method = "POST";
  request.url = server.url("/v1");
  request.headers = {{"Authorization", "Bearer secret"},
                     {"Content-Type", "application/json"},
                     {"X-Empty", ""},
                     {"Content-Length", "2"}};
  request.body = "{}";
  request.has_body = true;
  const auto recorder = rig.start(request);
  EXPECT_EQ(recorder->outcome(), "ok");
  EXPECT_EQ(recorder->head().status, 201);
  EXPECT_EQ(seen.get_future().get(),
            "POST /v1 HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(server.port()) +
                "\r\nUser-Agent: millrace\r\nAccept: */*\r\nAuthorization: Bearer secret\r\n"
                "Content-Type: application/json\r\nX-Empty:\r\n"
                "Accept-Encoding: gzip, deflate\r\nContent-Length: 2\r\n\r\n{}");
}

TEST(Client, SendsABodyLargerThanEveryBuffer) {
  const std::string body(3'000'000, 'b');
  RawServer server([&](Peer& peer) {
    const std::string request = peer.read_request();
    const bool is_whole = request.ends_with("\r\n\r\n" + body);
    peer.write(test::response(200, "", is_whole ? "whole" : "broken"));
  });
  ClientRig rig;
  Request request;
  request.method = "PUT";
  request.url = server.url("/");
  request.body = body;
  request.has_body = true;
  const auto recorder = rig.start(request);
  EXPECT_EQ(recorder->outcome(), "ok");
  EXPECT_EQ(recorder->body(), "whole");
}

TEST(Client, AnswersToHeadAndEmptyPostHaveTheRightLengths) {
  std::vector<std::string> seen;
  RawServer server([&](Peer& peer) {
    seen.push_back(peer.read_request());
    peer.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\nContent-Encoding: br\r\n\r\n");
    seen.push_back(peer.read_request());
    peer.write(test::response(204, "", ""));
  });
  ClientRig rig;
  Request request;
  request.method = "HEAD";
  request.url = server.url("/");
  EXPECT_EQ(rig.start(request)->outcome(), "ok");
  request.method = "POST";
  EXPECT_EQ(rig.start(request)->outcome(), "ok");
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_TRUE(seen[0].starts_with("HEAD / HTTP/1.1\r\n"));
  EXPECT_NE(seen[1].find("\r\nContent-Length: 0\r\n"), std::string::npos);
  EXPECT_EQ(seen[1].find("Content-Type"), std::string::npos);
}

TEST(Client, DeliversAStreamAsItArrives) {
  std::promise<void> first_seen;
  RawServer server([&](Peer& peer) {
    peer.read_request();
    peer.write(stream_head);
    peer.write_chunk("data: 1\n\n");
    first_seen.get_future().wait();
    peer.write_chunk("data: 2\n\n");
    peer.write_chunk("");
  });
  ClientRig rig;
  const auto recorder = rig.get(server.url("/"));
  ASSERT_TRUE(recorder->wait_body(9));
  EXPECT_EQ(recorder->body(), "data: 1\n\n");
  EXPECT_FALSE(recorder->is_done());
  first_seen.set_value();
  EXPECT_EQ(recorder->outcome(), "ok");
  EXPECT_EQ(recorder->body(), "data: 1\n\ndata: 2\n\n");
}

TEST(Client, SkipsInformationalResponsesAndTrailers) {
  RawServer server([](Peer& peer) {
    peer.read_request();
    peer.write("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n");
    peer.write(stream_head);
    peer.write("3\r\nabc\r\n0\r\nX-Trailer: t\r\n\r\n");
  });
  ClientRig rig;
  const auto recorder = rig.get(server.url("/"));
  EXPECT_EQ(recorder->outcome(), "ok");
  EXPECT_EQ(recorder->head().status, 200);
  EXPECT_EQ(recorder->head().headers.size(), 2U);
  EXPECT_EQ(recorder->body(), "abc");
}

TEST(Client, ReusesAConnection) {
  RawServer server([](Peer& peer) {
    while (!peer.read_request().empty()) peer.write(test::response(200, "", "again"));
  });
  ClientRig rig;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(rig.get(server.url("/"))->outcome(), "ok");
  EXPECT_EQ(server.accepted(), 1);
}

TEST(Client, TriesAgainWhenAKeptConnectionHasGone) {
  RawServer server([](Peer& peer) {
    peer.read_request();
    peer.write(test::response(200, "", "once"));
    peer.read_request();
  });
  ClientRig rig;
  for (int i = 0; i < 2; ++i) EXPECT_EQ(rig.get(server.url("/"))->outcome(), "ok") << i;
}

// The sender can fill the kernel's buffers (some megabytes on loopback), but no more.
TEST(Client, PauseStopsTheSenderAndResumeLosesNothing) {
  constexpr std::size_t piece = 65536;
  constexpr std::size_t pieces = 1600;
  std::atomic<std::size_t> sent{0};
  RawServer server([&](Peer& peer) {
    peer.read_request();
    peer.write("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(piece * pieces) + "\r\n\r\n");
    for (std::size_t i = 0; i < pieces; ++i) {
      if (!peer.write(std::string(piece, static_cast<char>('a' + i % 26)))) return;
      sent = peer.sent_bytes();
    }
  });
  ClientRig rig;
  Request request;
  request.url = server.url("/");
  request.limits.decoded_bytes = 0;
  auto recorder = std::make_shared<Recorder>();
  TransferId id = 0;
  bool paused = false;
  recorder->after_data = [&] {
    if (!std::exchange(paused, true)) rig.client().pause(id);
  };
  rig.on_loop([&] { id = rig.client().start(request, recorder); });
  ASSERT_TRUE(recorder->wait_body(1));
  std::size_t before = 0;
  do {
    before = sent;
    std::this_thread::sleep_for(200ms);
  } while (sent != before);
  EXPECT_LT(sent, piece * pieces / 2);
  EXPECT_LE(recorder->body().size(), 16384U);
  rig.resume(id);
  // Each part has its own time: how quickly a busy machine moves 100 MB is not what is asked.
  constexpr std::size_t part = piece * pieces / 16;
  for (std::size_t size = part; size <= piece * pieces; size += part) {
    ASSERT_TRUE(recorder->wait_body(size)) << size;
  }
  EXPECT_EQ(recorder->outcome(), "ok");
  const std::string body = recorder->body();
  ASSERT_EQ(body.size(), piece * pieces);
  for (std::size_t at = 0; at < body.size(); at += piece / 2) {
    ASSERT_EQ(body[at], static_cast<char>('a' + at / piece % 26)) << at;
  }
  EXPECT_LE(recorder->largest_piece(), 16384U);
}

TEST(Client, PausingAtEachPieceDeliversEverything) {
  RawServer server([](Peer& peer) {
    peer.read_request();
    peer.write(stream_head);
    for (int i = 0; i < 300; ++i)
      peer.write_chunk(std::string(7000, static_cast<char>('a' + i % 26)));
    peer.write_chunk("");
  });
  ClientRig rig;
  Request request;
  request.url = server.url("/");
  auto recorder = std::make_shared<Recorder>();
  TransferId id = 0;
  recorder->after_data = [&] {
    rig.client().pause(id);
    rig.client().resume(id);
    rig.client().pause(id);
  };
  rig.on_loop([&] { id = rig.client().start(request, recorder); });
  while (!recorder->is_done()) rig.resume(id);
  EXPECT_EQ(recorder->outcome(), "ok");
  EXPECT_EQ(recorder->body().size(), 300U * 7000U);
}

// A transfer that is paused, or that waits, costs no processor time.
TEST(Client, APausedTransferDoesNotSpin) {
  RawServer server([](Peer& peer) {
    peer.read_request();
    peer.write(stream_head);
    while (peer.write_chunk(std::string(60000, 'x'))) {
    }
  });
  ClientRig rig;
  Request request;
  request.url = server.url("/");
  request.limits.decoded_bytes = 0;
  auto recorder = std::make_shared<Recorder>();
  TransferId id = 0;
  recorder->after_data = [&] { rig.client().pause(id); };
  rig.on_loop([&] { id = rig.client().start(request, recorder); });
  ASSERT_TRUE(recorder->wait_body(1));
  std::this_thread::sleep_for(300ms);
  const auto engine_time = [&] {
    timespec used{};
    rig.on_loop([&] { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used); });
    return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
  };
  const auto before = engine_time();
  std::this_thread::sleep_for(500ms);
  EXPECT_LT(engine_time() - before, 100ms);
}

TEST(Client, CancelClosesTheSocketAtOnce) {
  std::promise<bool> closed;
  RawServer server([&](Peer& peer) {
    peer.read_request();
    peer.write(stream_head);
    peer.write_chunk("data: 1\n\n");
    closed.set_value(peer.closes_within(test::grace_period));
  });
  ClientRig rig;
  auto recorder = std::make_shared<Recorder>();
  Request request;
  request.url = server.url("/");
  const TransferId id = rig.start(request, recorder);
  ASSERT_TRUE(recorder->wait_body(9));
  rig.on_loop([&] {
    rig.client().cancel(id);
    rig.client().cancel(id);
    EXPECT_FALSE(recorder->is_done());
  });
  EXPECT_EQ(recorder->outcome(), "cancelled");
  EXPECT_TRUE(closed.get_future().get());
}

TEST(Client, CancelFromInsideTheHandlerEndsTheDelivery) {
  RawServer server([&](Peer& peer) {
    peer.read_request();
    peer.write(stream_head);
    while (peer.write_chunk("data: 1\n\n")) {
    }
  });
  ClientRig rig;
  Request request;
  request.url = server.url("/");
  auto recorder = std::make_shared<Recorder>();
  auto other = std::make_shared<Recorder>();
  TransferId id = 0;
  const TransferId other_id = rig.start(request, other);
  ASSERT_TRUE(other->wait_body(1));
  std::size_t at_cancel = 0;
  std::size_t other_at_cancel = 0;
  recorder->after_data = [&] {
    rig.client().cancel(id);
    rig.client().cancel(other_id);
    at_cancel = recorder->body().size();
    other_at_cancel = other->body().size();
  };
  rig.on_loop([&] { id = rig.client().start(request, recorder); });
  EXPECT_EQ(recorder->outcome(), "cancelled");
  EXPECT_EQ(other->outcome(), "cancelled");
  rig.on_loop([] {});
  EXPECT_EQ(recorder->body().size(), at_cancel);
  EXPECT_EQ(other->body().size(), other_at_cancel);
}

TEST(Client, CancelDuringConnectAndLookupDoesNotWait) {
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  ClientOptions options;
  options.resolver.lookup = [released](const std::string&) -> Result<os::Addresses> {
    released.wait();
    return os::Addresses{"127.0.0.1"};
  };
  ClientRig rig(options);
  Request request;
  request.url = "http://hangs.test/";
  auto recorder = std::make_shared<Recorder>();
  const TransferId id = rig.start(request, recorder);
  rig.cancel(id);
  EXPECT_EQ(recorder->outcome(), "cancelled");
  release.set_value();
}

TEST(Client, StartsTheNextFromInsideOnDone) {
  RawServer server([](Peer& peer) {
    while (!peer.read_request().empty()) peer.write(test::response(200, "", "x"));
  });
  ClientRig rig;
  Request request;
  request.url = server.url("/");
  auto first = std::make_shared<Recorder>();
  auto second = std::make_shared<Recorder>();
  auto third = std::make_shared<Recorder>();
  first->after_done = [&] { rig.client().start(request, second); };
  second->after_data = [&] { rig.client().start(request, third); };
  rig.start(request, first);
  EXPECT_EQ(first->outcome(), "ok");
  EXPECT_EQ(second->outcome(), "ok");
  EXPECT_EQ(third->outcome(), "ok");
}

TEST(Client, AHandlerThatThrowsEndsItsOwnTransferOnly) {
  RawServer server([](Peer& peer) {
    peer.read_request();
    peer.write(test::response(200, "", "x"));
  });
  ClientRig rig;
  Request request;
  request.url = server.url("/");
  auto thrower = std::make_shared<Recorder>();
  thrower->after_data = [] { throw std::runtime_error("handler"); };
  rig.start(request, thrower);
  EXPECT_EQ(thrower->outcome(), "internal");
  EXPECT_NE(thrower->error().message.find("http://127.0.0.1:"), std::string::npos);
  EXPECT_EQ(rig.get(server.url("/"))->outcome(), "ok");
}

TEST(Client, ResolvesNamesThroughTheLookupAndAsksOnce) {
  RawServer server([](Peer& peer) {
    const std::string request = peer.read_request();
    peer.write(
        test::response(200, "Connection: close\r\n", request.substr(request.find("Host:"), 16)));
  });
  std::atomic<int> requested{0};
  ClientOptions options;
  options.resolver.lookup = [&](const std::string& host) -> Result<os::Addresses> {
    ++requested;
    if (host == "a.test") return os::Addresses{"::1", "127.0.0.1"};
    return make_error(Errc::name_resolution_failed, "No such host: " + host + ".");
  };
  ClientRig rig(options);
  for (int i = 0; i < 2; ++i) {
    const auto recorder = rig.get(server.url("/", "A.test"));
    EXPECT_EQ(recorder->outcome(), "ok");
    EXPECT_EQ(recorder->body(), "Host: A.test:" + std::to_string(server.port()).substr(0, 3));
  }
  EXPECT_EQ(requested, 1);
  EXPECT_EQ(rig.get("http://b.test/")->outcome(), "name_resolution_failed");
  EXPECT_EQ(rig.get(server.url("/", "localhost"))->outcome(), "ok");
  EXPECT_EQ(requested, 2);
}

TEST(Client, RunsManyStreamsAtATime) {
  constexpr int count = 200;
  std::promise<void> all_open;
  const auto opened = all_open.get_future().share();
  RawServer server([&](Peer& peer) {
    peer.read_request();
    peer.write(stream_head);
    peer.write_chunk("data: 1\n\n");
    opened.wait();
    for (int i = 0; i < 20; ++i) peer.write_chunk("data: 2\n\n");
    peer.write_chunk("");
  });
  ClientRig rig;
  std::vector<std::shared_ptr<Recorder>> recorders;
  for (int i = 0; i < count; ++i) recorders.push_back(rig.get(server.url("/")));
  for (const auto& recorder : recorders) EXPECT_TRUE(recorder->wait_body(9));
  EXPECT_EQ(server.accepted(), count);
  all_open.set_value();
  for (const auto& recorder : recorders) {
    EXPECT_EQ(recorder->outcome(), "ok");
    EXPECT_EQ(recorder->body().size(), 9U * 21U);
  }
}

TEST(Client, DestroyingItEndsLiveTransfers) {
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  RawServer server([](Peer& peer) {
    peer.read_request();
    peer.write(stream_head);
    peer.write_chunk("data: 1\n\n");
    peer.closes_within(test::grace_period);
  });
  ClientOptions options;
  options.resolver.lookup = [released](const std::string&) -> Result<os::Addresses> {
    released.wait();
    return os::Addresses{"127.0.0.1"};
  };
  ClientRig rig(options);
  Request request;
  request.url = server.url("/");
  const auto streaming = rig.start(request);
  const auto looking_up = rig.get("http://hangs.test/");
  auto cancelled = std::make_shared<Recorder>();
  const TransferId id = rig.start(request, cancelled);
  ASSERT_TRUE(streaming->wait_body(9));
  TransferId late = 1;
  streaming->after_done = [&] { late = rig.client().start(request, streaming); };
  rig.on_loop([&] { rig.client().cancel(id); });
  rig.destroy_client();
  EXPECT_EQ(streaming->outcome(), "engine_closed");
  EXPECT_EQ(streaming->error().message, "The engine is closed.");
  EXPECT_EQ(looking_up->outcome(), "engine_closed");
  EXPECT_EQ(cancelled->outcome(), "cancelled");
  EXPECT_EQ(late, 0U);
  EXPECT_EQ(streaming->body(), "data: 1\n\n");
  release.set_value();
}

}  // namespace
}  // namespace millrace::net
