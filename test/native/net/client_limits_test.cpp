// The limits in time and size, and compressed bodies.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

#include "net/client.hpp"
#include "support/client_rig.hpp"
#include "support/raw_server.hpp"
#include "support/sanitizers.hpp"

namespace millrace::net {
namespace {

using namespace std::chrono_literals;
using test::chunked_head;
using test::ClientRig;
using test::Peer;
using test::RawServer;
using test::Recorder;
using test::to;

std::string gzip(std::string_view text, int window = 15 + 16) {
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::size_t resident_bytes() {
  std::size_t total = 0;
  std::size_t resident = 0;
  FILE* file = fopen("/proc/self/statm", "re");
  if (file == nullptr || fscanf(file, "%zu %zu", &total, &resident) != 2) resident = 0;
  if (file != nullptr) fclose(file);
  return resident * 4096;
}

// A listener whose queue is full answers no connection attempt.
class UnresponsiveListener {
 public:
  UnresponsiveListener();
  ~UnresponsiveListener();
  [[nodiscard]] std::string url() const {
    return "http://127.0.0.1:" + std::to_string(port_) + "/";
  }

 private:
  std::uint16_t port_ = 0;
  std::vector<int> sockets_;
};

UnresponsiveListener::UnresponsiveListener() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  sockets_.push_back(socket(AF_INET, SOCK_STREAM, 0));
  bind(sockets_[0], generic, size);
  listen(sockets_[0], 0);
  getsockname(sockets_[0], generic, &size);
  port_ = ntohs(address.sin_port);
  for (int i = 0; i < 4; ++i) {
    sockets_.push_back(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
    connect(sockets_.back(), generic, size);
  }
}

UnresponsiveListener::~UnresponsiveListener() {
  for (const int fd : sockets_) close(fd);
}

TEST(ClientTimeouts, ConnectEndsAnUnansweredAttempt) {
  const UnresponsiveListener unresponsive;
  ClientRig rig;
  Request request = to(unresponsive.url());
  request.timeouts.connect = 100ms;
  const auto recorder = rig.start(request);
  EXPECT_EQ(recorder->outcome(), "connect_timeout");
  EXPECT_NE(recorder->error().message.find("127.0.0.1"), std::string::npos);
}

TEST(ClientTimeouts, ConnectIncludesTheNameLookup) {
  std::promise<void> release;
  ClientOptions options;
  options.resolver.lookup = [released = release.get_future().share()](const std::string&) {
    released.wait();
    return Result<os::Addresses>(os::Addresses{"127.0.0.1"});
  };
  ClientRig rig(options);
  Request request = to("http://hangs.test/");
  request.timeouts.connect = 50ms;
  EXPECT_EQ(rig.start(request)->outcome(), "connect_timeout");
  release.set_value();
}

TEST(ClientTimeouts, ConnectIncludesTls) {
  RawServer silent([](Peer& peer) { peer.closes_within(test::grace_period); });
  ClientRig rig;
  Request request = to("https://127.0.0.1:" + std::to_string(silent.port()) + "/");
  request.timeouts.connect = 100ms;
  EXPECT_EQ(rig.start(request)->outcome(), "connect_timeout");
}

TEST(ClientTimeouts, FirstByteEndsASilentServerAndClosesItsSocket) {
  std::promise<bool> closed;
  RawServer silent([&](Peer& peer) {
    peer.read_request();
    closed.set_value(peer.closes_within(test::grace_period));
  });
  ClientRig rig;
  Request request = to(silent.url("/"));
  request.timeouts.first_byte = 100ms;
  request.timeouts.idle = 1h;
  EXPECT_EQ(rig.start(request)->outcome(), "first_byte_timeout");
  EXPECT_TRUE(closed.get_future().get());
}

// What comes before the whole head is no answer: neither drops of it nor interim answers keep the
// clock of the first byte from running out.
TEST(ClientTimeouts, FirstByteEndsAHeadThatNeverEnds) {
  for (const std::string_view piece : {"x-drop: 1\r\n", "HTTP/1.1 102 Processing\r\n\r\n"}) {
    RawServer server([&](Peer& peer) {
      peer.read_request();
      if (piece.starts_with("x-")) peer.write("HTTP/1.1 200 OK\r\n");
      while (peer.write(piece) && !peer.closes_within(20ms)) {
      }
    });
    ClientRig rig;
    Request request = to(server.url("/"));
    request.timeouts.first_byte = 200ms;
    request.timeouts.idle = 1h;
    EXPECT_EQ(rig.start(request)->outcome(), "first_byte_timeout") << piece;
  }
}

TEST(ClientTimeouts, IdleEndsAStreamThatFallsSilent) {
  RawServer server([](Peer& peer) {
    peer.read_request();
    peer.write(chunked_head);
    peer.write_chunk("data: 1\n\n");
    peer.closes_within(test::grace_period);
  });
  ClientRig rig;
  Request request = to(server.url("/"));
  request.timeouts.first_byte = 1h;
  request.timeouts.idle = 100ms;
  const auto recorder = rig.start(request);
  EXPECT_EQ(recorder->outcome(), "idle_timeout");
  EXPECT_EQ(recorder->body(), "data: 1\n\n");
  EXPECT_EQ(recorder->error().upstream_status, 200);
}

TEST(ClientTimeouts, AnyBytesKeepAStreamAlive) {
  RawServer server([](Peer& peer) {
    peer.read_request();
    peer.write(chunked_head);
    for (int i = 0; i < 40; ++i) {
      peer.write_chunk(": ping\n\n");
      std::this_thread::sleep_for(50ms);
    }
    peer.write_chunk("");
  });
  ClientRig rig;
  Request request = to(server.url("/"));
  request.timeouts.idle = 1500ms;  // less than the stream lasts
  EXPECT_EQ(rig.start(request)->outcome(), "ok");
}

TEST(ClientTimeouts, TheIdleClockStandsStillWhilePaused) {
  RawServer server([](Peer& peer) {
    peer.read_request();
    peer.write(chunked_head);
    peer.write_chunk("data: 1\n\n");
    std::this_thread::sleep_for(300ms);
    peer.write_chunk("data: 2\n\n");
    peer.write_chunk("");
  });
  ClientRig rig;
  Request request = to(server.url("/"));
  request.timeouts.idle = 200ms;
  auto recorder = std::make_shared<Recorder>();
  TransferId id = 0;
  recorder->after_data = [&] { rig.client().pause(id); };
  rig.on_loop([&] { id = rig.client().start(request, recorder); });
  ASSERT_TRUE(recorder->wait_body(9));
  std::this_thread::sleep_for(600ms);
  EXPECT_FALSE(recorder->is_done());
  rig.resume(id);
  ASSERT_TRUE(recorder->wait_body(18));
  rig.resume(id);
  EXPECT_EQ(recorder->outcome(), "ok");
}

TEST(ClientTimeouts, TotalEndsAStreamThatNeverFallsSilent) {
  RawServer server([](Peer& peer) {
    peer.read_request();
    peer.write(chunked_head);
    while (peer.write_chunk(": ping\n\n")) std::this_thread::sleep_for(5ms);
  });
  ClientRig rig;
  Request request = to(server.url("/"));
  request.timeouts.total = 150ms;
  request.timeouts.idle = 1h;
  EXPECT_EQ(rig.start(request)->outcome(), "total_timeout");
}

TEST(ClientLimits, DeliversUpToTheLimitAndRefusesTheRest) {
  RawServer server([](Peer& peer) {
    peer.read_request();
    peer.write(chunked_head);
    peer.write_chunk(std::string(100'000, 'x'));
    peer.write_chunk("");
  });
  ClientRig rig;
  Request request = to(server.url("/"));
  request.limits.decoded_bytes = 50'001;
  const auto recorder = rig.start(request);
  EXPECT_EQ(recorder->outcome(), "response_too_large");
  EXPECT_EQ(recorder->body().size(), 50'001U);
  request.limits.decoded_bytes = 100'000;
  EXPECT_EQ(rig.start(request)->outcome(), "ok");
}

// Nothing of it comes, so that nothing else would end the wait.
TEST(ClientLimits, RefusesAtOnceWhatIsAnnouncedToBeTooLarge) {
  ClientRig rig;
  const auto outcome_of = [&](const std::string& length, std::size_t limit, std::string_view more,
                              std::string_view method = "GET") {
    RawServer server([&](Peer& peer) {
      peer.read_request();
      peer.write("HTTP/1.1 200 OK\r\n" + std::string(more) + "Content-Length: " + length +
                 "\r\n\r\nab");
      peer.read_request();
    });
    Request request = to(server.url("/"));
    request.method = method;
    request.limits.decoded_bytes = limit;
    request.timeouts.idle = 300ms;
    return rig.start(request)->outcome();
  };
  EXPECT_EQ(outcome_of("1000000000000", 1'000'000, ""), "response_too_large");
  EXPECT_EQ(outcome_of("99999999999999999999999", 1'000'000, ""), "response_too_large");
  EXPECT_EQ(outcome_of("3", 2, ""), "response_too_large");
  EXPECT_EQ(outcome_of("2", 2, ""), "ok");
  EXPECT_EQ(outcome_of("3", 3, ""), "idle_timeout");
  // What the answer to HEAD would be is no body, and what a coding takes off is not known.
  EXPECT_EQ(outcome_of("1000000000000", 10, "", "HEAD"), "ok");
  EXPECT_EQ(outcome_of("1000000000000", 10, "Content-Encoding: gzip\r\n"), "decompression_failed");
  // Without a limit it is waited for.
  EXPECT_EQ(outcome_of("1000000000000", 0, ""), "idle_timeout");
}

TEST(ClientLimits, RefusesHeadersThatAreTooLarge) {
  struct Case {
    const char* what;
    std::string head;
  };
  std::string many = "HTTP/1.1 200 OK\r\n";
  for (int i = 0; i < 5000; ++i) many += "X-" + std::to_string(i) + ": filler\r\n";
  std::string informational;
  for (int i = 0; i < 5000; ++i) informational += "HTTP/1.1 100 Continue\r\n\r\n";
  const std::vector<Case> cases{
      {"many lines", many},
      {"one line", "HTTP/1.1 200 OK\r\nX: " + std::string(70'000, 'x') + "\r\n\r\n"},
      {"an endless line", "HTTP/1.1 200 OK\r\nX: " + std::string(400'000, 'x')},
      {"informational responses", informational},
  };
  for (const Case& one : cases) {
    RawServer server([&](Peer& peer) {
      peer.read_request();
      peer.write(one.head);
      peer.closes_within(test::grace_period);
    });
    ClientRig rig;
    const auto recorder = rig.get(server.url("/"));
    EXPECT_EQ(recorder->outcome(), "headers_too_large") << one.what;
    EXPECT_FALSE(recorder->has_head()) << one.what;
  }
}

TEST(ClientCoding, DecodesGzipAndDeflate) {
  const std::string text(200'000, 'z');
  struct Case {
    const char* header;
    std::string body;
  };
  const std::vector<Case> cases{
      {"gzip", gzip(text)},        {"X-GZip", gzip(text)},
      {"deflate", gzip(text, 15)}, {"deflate", gzip(text, -15)},
      {"identity", text},          {"gzip", gzip(text.substr(0, 7)) + gzip(text.substr(7))}};
  for (const Case& one : cases) {
    RawServer server([&](Peer& peer) {
      peer.read_request();
      peer.write(
          test::response(200, std::string("Content-Encoding: ") + one.header + "\r\n", one.body));
    });
    ClientRig rig;
    const auto recorder = rig.get(server.url("/"));
    EXPECT_EQ(recorder->outcome(), "ok") << one.header;
    EXPECT_TRUE(recorder->body() == text) << one.header;
    EXPECT_LE(recorder->largest_piece(), 16384U);
  }
}

TEST(ClientCoding, LeavesTheBodyAloneWhenAskedTo) {
  const std::string body = gzip("text");
  std::promise<std::string> seen;
  RawServer server([&](Peer& peer) {
    seen.set_value(peer.read_request());
    peer.write(test::response(200, "Content-Encoding: gzip\r\n", body));
  });
  ClientRig rig;
  Request request = to(server.url("/"));
  request.decompress = false;
  const auto recorder = rig.start(request);
  EXPECT_EQ(recorder->outcome(), "ok");
  EXPECT_EQ(recorder->body(), body);
  EXPECT_NE(seen.get_future().get().find("Accept-Encoding: identity\r\n"), std::string::npos);
}

TEST(ClientCoding, RefusesWhatItCannotDecode) {
  struct Case {
    const char* header;
    std::string body;
    const char* outcome;
  };
  const std::string whole = gzip("some text that is long enough to be cut");
  const std::vector<Case> cases{
      {"Content-Encoding: br\r\n", "x", "unsupported_encoding"},
      {"Content-Encoding: gzip, gzip\r\n", "x", "unsupported_encoding"},
      {"Content-Encoding: gzip\r\n", whole.substr(0, whole.size() - 9), "stream_truncated"},
      {"Content-Encoding: gzip\r\n", "not gzip at all", "decompression_failed"},
      {"Content-Encoding: gzip\r\n", whole + whole.substr(0, 5), "stream_truncated"},
      {"Content-Encoding: gzip\r\n", "", "ok"},
      {"Content-Encoding: gzip\r\n", whole + std::string(8, '\0'), "ok"},
  };
  for (const Case& one : cases) {
    RawServer server([&](Peer& peer) {
      peer.read_request();
      peer.write(test::response(200, one.header, one.body));
    });
    ClientRig rig;
    const auto recorder = rig.get(server.url("/"));
    EXPECT_EQ(recorder->outcome(), one.outcome) << one.header;
    EXPECT_TRUE(recorder->has_head()) << one.header;
  }
}

// Newer versions of libcurl end such a transfer before they tell its head.
TEST(ClientCoding, RefusesATransferCodingThatItDidNotAskFor) {
  RawServer server([](Peer& peer) {
    peer.read_request();
    peer.write(test::response(200, "Transfer-Encoding: gzip, chunked\r\n", "x"));
  });
  ClientRig rig;
  const auto recorder = rig.get(server.url("/"));
  EXPECT_EQ(recorder->outcome(), "unsupported_encoding");
  EXPECT_EQ(recorder->body(), "");
}

// 160 MB of zeros in 160 KB, as one body and to a consumer that pauses.
TEST(ClientCoding, ABombStaysSmall) {
  std::string bomb;
  const std::string megabyte = gzip(std::string(1 << 20, '\0'));
  for (int i = 0; i < 160; ++i) bomb += megabyte;
  RawServer server([&](Peer& peer) {
    peer.read_request();
    peer.write(test::response(200, "Content-Encoding: gzip\r\n", bomb));
    peer.closes_within(test::grace_period);
  });
  ClientRig rig;
  class Counter final : public TransferHandler {
   public:
    void on_head(ResponseHead) override {}
    void on_data(std::string_view decoded) override {
      size += decoded.size();
      rig->client().pause(id);
      most = std::max(most, resident_bytes());
      rig->client().resume(id);
      if (size % 7 == 0) rig->client().pause(id);
    }
    void on_done(std::optional<Error> error) override {
      done.set_value(error ? std::string(error->code_name()) : "ok");
    }
    ClientRig* rig = nullptr;
    TransferId id = 0;
    std::size_t size = 0;
    std::size_t most = 0;
    std::promise<std::string> done;
  };
  auto counter = std::make_shared<Counter>();
  counter->rig = &rig;
  const std::size_t before = resident_bytes();
  rig.on_loop([&] { counter->id = rig.client().start(to(server.url("/")), counter); });
  auto outcome = counter->done.get_future();
  while (outcome.wait_for(1ms) != std::future_status::ready) rig.resume(counter->id);
  EXPECT_EQ(outcome.get(), "response_too_large");
  EXPECT_EQ(counter->size, Limits{}.decoded_bytes);
  // AddressSanitizer keeps freed memory for a while.
  if (!test::has_address_sanitizer) {
    EXPECT_LT(counter->most, before + (16U << 20U));
  }
}

TEST(ClientCoding, DeliversWhatWaitsInsideBeforeTheEnd) {
  const std::string text(300'000, 'w');
  struct Case {
    bool is_cut;
    const char* outcome;
  };
  for (const Case& one : {Case{false, "ok"}, Case{true, "connection_lost"}}) {
    RawServer server([&](Peer& peer) {
      peer.read_request();
      const std::string coded = gzip(text);
      peer.write("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: " +
                 std::to_string(coded.size() + (one.is_cut ? 1 : 0)) + "\r\n\r\n" + coded);
    });
    ClientRig rig;
    auto recorder = std::make_shared<Recorder>();
    TransferId id = 0;
    recorder->after_data = [&] { rig.client().pause(id); };
    rig.on_loop([&] { id = rig.client().start(to(server.url("/")), recorder); });
    ASSERT_TRUE(recorder->wait_body(1));
    std::this_thread::sleep_for(50ms);
    EXPECT_FALSE(recorder->is_done());
    while (!recorder->is_done()) rig.resume(id);
    EXPECT_EQ(recorder->outcome(), one.outcome);
    EXPECT_TRUE(recorder->body() == text);
  }
}

}  // namespace
}  // namespace millrace::net
