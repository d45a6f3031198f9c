// Answers that are written while the peer reads, reads slowly, or leaves.
#include <gtest/gtest.h>

#include <functional>

#include "server_fixture.hpp"

namespace {

using test::milliseconds;
using test::RawClient;
using test::test_options;
using test::TestServer;
namespace http = millrace::http;

using Stream = std::shared_ptr<http::ResponseStream>;

// Holds the stream of the last request to /stream and says when its peer went away.
struct Held {
  http::Route route() {
    return {"GET", "/stream", [this](auto&&, Stream stream) {
              EXPECT_TRUE(stream->start(200, {{"Content-Type", "text/event-stream"}}).ok());
              stream->on_close([this] {
                stream_.reset();
                closed.set_value();
              });
              stream->write("begin");
              stream_ = std::move(stream);
            }};
  }
  bool is_closed_within(milliseconds limit = milliseconds(10'000)) {
    return closed.get_future().wait_for(limit) == std::future_status::ready;
  }

  Stream stream_;
  std::promise<void> closed;
};

TEST(HttpStream, SendsChunksAndGoesOn) {
  Held held;
  TestServer server(test_options(), {held.route()});
  RawClient client(server.port);
  client.send(server.get("/stream"));
  EXPECT_TRUE(client.receive_until("5\r\nbegin\r\n")) << "what is written is sent at once";
  EXPECT_NE(client.received().find("Content-Type: text/event-stream\r\n"), std::string::npos);
  server.run([&] {
    EXPECT_TRUE(held.stream_->write(" and"));
    EXPECT_TRUE(held.stream_->write(""));
    EXPECT_TRUE(held.stream_->write(" end"));
    held.stream_->end();
    EXPECT_FALSE(held.stream_->is_open());
    held.stream_.reset();
  });
  const auto answer = client.answer();
  EXPECT_EQ(answer.body, "begin and end");
  EXPECT_TRUE(answer.complete);
  client.send(server.get("/count"));
  EXPECT_EQ(client.answer().body, "counted");
}

TEST(HttpStream, EndsWithTheConnectionForHttp10) {
  Held held;
  TestServer server(test_options(), {held.route()});
  RawClient client(server.port);
  client.send("GET /stream HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_TRUE(client.receive_until("begin"));
  server.run([&] {
    held.stream_->write(" end");
    std::exchange(held.stream_, nullptr)->end();
  });
  const auto answer = client.answer();
  EXPECT_EQ(answer.header("Transfer-Encoding"), "");
  EXPECT_EQ(answer.header("Connection"), "close");
  EXPECT_EQ(answer.body, "begin end");
}

// A stream of ten bytes of which only some are written.
http::Route sized_route(std::string bytes) {
  return {"GET", "/sized", [bytes = std::move(bytes)](http::Request&&, auto stream) {
            EXPECT_TRUE(stream->start_sized(200, {}, 10).ok());
            stream->write(bytes);
            stream->end();
          }};
}

TEST(HttpStream, NamesASizeThatIsKnown) {
  TestServer server(test_options(), {sized_route("0123456789 and more")});
  RawClient client(server.port);
  client.send(server.get("/sized") + server.get("/count"));
  const auto answer = client.answer();
  EXPECT_EQ(answer.header("Content-Length"), "10");
  EXPECT_EQ(answer.header("Transfer-Encoding"), "");
  EXPECT_EQ(answer.body, "0123456789");
  EXPECT_EQ(client.answer().body, "counted");
  client.send("HEAD /sized HTTP/1.1\r\nHost: localhost\r\n\r\n" + server.get("/count"));
  EXPECT_EQ(client.answer(true).header("Content-Length"), "10");
  EXPECT_EQ(client.answer().body, "counted");
}

TEST(HttpStream, CutsOffASizeThatIsNotReached) {
  TestServer server(test_options(), {sized_route("0123")});
  RawClient client(server.port);
  client.send(server.get("/sized"));
  const std::string all = client.receive_all();
  EXPECT_EQ(all.find("0123456789"), std::string::npos);
  EXPECT_TRUE(client.sees_end());
}

TEST(HttpStream, EndsAtTheHeadForHead) {
  Held held;
  TestServer server(test_options(), {held.route()});
  RawClient client(server.port);
  client.send("HEAD /stream HTTP/1.1\r\nHost: localhost\r\n\r\n" + server.get("/count"));
  EXPECT_EQ(client.answer(true).status, 200);
  EXPECT_EQ(client.answer().body, "counted");
  EXPECT_TRUE(held.is_closed_within()) << "the handler must hear that nobody reads";
}

TEST(HttpStream, HearsThatAnIdlePeerLeft) {
  for (const bool by_reset : {false, true}) {
    Held held;
    TestServer server(test_options(), {held.route()});
    RawClient client(server.port);
    client.send(server.get("/stream"));
    EXPECT_TRUE(client.receive_until("begin"));
    if (by_reset) {
      client.reset();
    } else {
      client.close();
    }
    EXPECT_TRUE(held.is_closed_within()) << by_reset;
  }
}

TEST(HttpStream, CutsOffWhatAHandlerDrops) {
  Held held;
  TestServer server(test_options(), {held.route()});
  RawClient client(server.port);
  client.send(server.get("/stream"));
  EXPECT_TRUE(client.receive_until("begin"));
  server.run([&] {
    held.stream_->on_close(nullptr);
    held.stream_.reset();
  });
  EXPECT_EQ(client.receive_all().find("\r\n0\r\n"), std::string::npos) << "no proper end";
  EXPECT_TRUE(client.sees_end());
}

// Writes until the stream says no, again at each drain, `total` bytes in all.
struct Producer {
  explicit Producer(std::size_t bytes) : total(bytes) {}

  http::Route route() {
    return {"GET", "/produce", [this](auto&&, Stream stream) {
              (void)stream->start(200, {});
              stream->on_drain([this] {
                ++drains;
                produce();
              });
              stream->on_close([this] {
                stream_.reset();
                closed.set_value();
              });
              stream_ = std::move(stream);
              produce();
            }};
  }

  void produce() {
    const std::string piece(1000, 'p');
    bool has_room = true;
    while (has_room && written < total) {
      has_room = stream_->write(piece);
      written += piece.size();
    }
    if (written >= total) std::exchange(stream_, nullptr)->end();
  }

  std::size_t total;
  std::atomic<std::size_t> written{0};
  std::atomic<int> drains{0};
  Stream stream_;
  std::promise<void> closed;
};

TEST(HttpStream, DrainsToASlowReader) {
  Producer producer(20'000'000);
  TestServer server(test_options(), {producer.route()});
  RawClient client(server.port, 4096);
  client.send(server.get("/produce"));
  const auto answer = client.answer();
  EXPECT_TRUE(answer.complete);
  EXPECT_EQ(answer.body.size(), producer.total);
  EXPECT_GT(producer.drains, 0);
}

TEST(HttpStream, EndsAReaderThatNeverReads) {
  Producer producer(1'000'000'000);
  http::ServerOptions options = test_options();
  options.times.write_stall = milliseconds(100);
  TestServer server(options, {producer.route()});
  RawClient client(server.port, 4096);
  client.send(server.get("/produce"));
  ASSERT_EQ(producer.closed.get_future().wait_for(milliseconds(10'000)), std::future_status::ready);
  // What the kernel holds, and one buffer of the server.
  EXPECT_LT(producer.written, 16'000'000U);
}

TEST(HttpStream, DropsAHandlerThatNeverHeedsItsPeer) {
  http::ServerOptions options = test_options();
  options.write_buffer_limit_bytes = 1'000'000;
  std::promise<void> closed;
  std::function<void()> go_on;
  Stream held;
  TestServer server(options, {{"GET", "/flood", [&](auto&&, Stream stream) {
                                 held = std::move(stream);
                                 (void)held->start(200, {});
                                 held->on_close([&] {
                                   held.reset();
                                   closed.set_value();
                                 });
                                 go_on = [&] {
                                   if (!held) return;
                                   held->write(std::string(100'000, 'f'));
                                   server.loop.post(go_on);
                                 };
                                 go_on();
                               }}});
  RawClient client(server.port, 4096);
  client.send(server.get("/flood"));
  EXPECT_EQ(closed.get_future().wait_for(milliseconds(10'000)), std::future_status::ready);
}

TEST(HttpStream, TellsEveryStreamThatTheServerStops) {
  constexpr int streams = 20;
  std::atomic<int> closed{0};
  std::vector<Stream> held;
  TestServer server(test_options(), {{"GET", "/hold", [&](auto&&, Stream stream) {
                                        (void)stream->start(200, {});
                                        stream->on_close([&closed] { ++closed; });
                                        held.push_back(std::move(stream));
                                      }}});
  std::vector<RawClient> clients;
  for (int i = 0; i < streams; ++i) {
    clients.emplace_back(server.port);
    clients.back().send(server.get("/hold"));
    EXPECT_TRUE(clients.back().receive_until("\r\n\r\n"));
  }
  server.stop(milliseconds(50));
  EXPECT_EQ(closed, streams);
  for (RawClient& client : clients) EXPECT_TRUE(client.sees_end());
  EXPECT_FALSE(RawClient(server.port).is_connected()) << "it accepts no more";
  server.run([&] { held.clear(); });
}

TEST(HttpStream, FinishesAnswersWhileTheServerStops) {
  Held held;
  TestServer server(test_options(), {held.route()});
  RawClient idle(server.port);
  idle.send(server.get("/count"));
  EXPECT_EQ(idle.answer().status, 200);
  RawClient client(server.port);
  client.send(server.get("/stream"));
  EXPECT_TRUE(client.receive_until("begin"));
  std::promise<void> stopped;
  server.server->stop(milliseconds(60'000), [&] { stopped.set_value(); });
  EXPECT_TRUE(idle.sees_end()) << "an idle connection has nothing to finish";
  server.run([&] {
    held.stream_->write(" end");
    std::exchange(held.stream_, nullptr)->end();
  });
  const auto answer = client.answer();
  EXPECT_EQ(answer.body, "begin end");
  EXPECT_TRUE(answer.complete);
  EXPECT_TRUE(client.sees_end());
  client.close();
  EXPECT_EQ(stopped.get_future().wait_for(milliseconds(10'000)), std::future_status::ready);
}

// Without a status a client cannot know whether its request was read.
TEST(HttpStream, AnswersWhatIsNotBegunBeforeTheServerCloses) {
  std::vector<Stream> held;
  std::promise<void> called;
  TestServer server(test_options(), {{"POST", "/hold", [&](auto&&, Stream stream) {
                                        held.push_back(std::move(stream));
                                        called.set_value();
                                      }}});
  RawClient client(server.port);
  client.send("POST /hold HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(server.port) +
              "\r\nContent-Length: 0\r\n\r\n");
  called.get_future().wait();
  server.stop(milliseconds(50));
  const auto answer = client.answer();
  EXPECT_EQ(answer.status, 503);
  EXPECT_NE(answer.body.find("engine_closed"), std::string::npos) << answer.body;
  EXPECT_TRUE(client.sees_end());
  server.run([&] { held.clear(); });
}

TEST(HttpStream, OutlivesItsServer) {
  Stream held;
  {
    std::promise<void> called;
    TestServer server(test_options(), {{"GET", "/hold", [&](auto&&, Stream stream) {
                                          held = std::move(stream);
                                          called.set_value();
                                        }}});
    RawClient client(server.port);
    client.send(server.get("/hold"));
    called.get_future().wait();
  }
  ASSERT_TRUE(held);
  EXPECT_FALSE(held->is_open());
  EXPECT_FALSE(held->send(200, {}, "late").ok());
  bool is_reported = false;
  held->on_close([&] { is_reported = true; });
  EXPECT_TRUE(is_reported);
}

}  // namespace
