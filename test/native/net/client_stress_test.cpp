// Many transfers at a time, against peers that misbehave at random and with random orders from the
// caller: each transfer must end exactly once, and the bytes of those that end well must be whole.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <random>

#include "net/client.hpp"
#include "support/client_rig.hpp"
#include "support/raw_server.hpp"

namespace millrace::net {
namespace {

using namespace std::chrono_literals;
using test::ClientRig;
using test::Peer;
using test::RawServer;
using test::Recorder;

constexpr int pieces = 30;
constexpr int piece_bytes = 2500;

// What the peer does follows from the number in the path.
void misbehave(Peer& peer) {
  for (;;) {
    const std::string request = peer.read_request();
    if (request.empty()) return;
    std::mt19937 random(static_cast<unsigned>(std::stoul(request.substr(request.find('/') + 1))));
    const auto chance = [&](unsigned percent) { return random() % 100 < percent; };
    if (chance(10) && request.find("again") == std::string::npos) {
      const bool has_body = chance(50);
      peer.write("HTTP/1.1 307 X\r\nLocation: " + std::to_string(random() % 1000) +
                 "?again\r\nContent-Length: " + (has_body ? "5" : "0") + "\r\n\r\n");
      continue;
    }
    if (chance(5)) return;
    peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < pieces; ++i) {
      if (chance(1)) {
        peer.reset();
        return;
      }
      if (chance(1)) return;
      if (chance(5)) std::this_thread::sleep_for(std::chrono::milliseconds(random() % 20));
      if (!peer.write_chunk(std::string(piece_bytes, static_cast<char>('a' + i % 26)))) return;
    }
    peer.write_chunk("");
  }
}

TEST(ClientStress, EveryTransferEndsOnce) {
  const char* given = std::getenv("MILLRACE_SEED");
  const unsigned seed = given != nullptr ? static_cast<unsigned>(std::stoul(given))
                                         : std::random_device()() % 1'000'000;
  std::cout << "MILLRACE_SEED=" << seed << '\n';
  std::mt19937 random(seed);
  RawServer server(misbehave);
  ClientRig rig;
  struct Running {
    TransferId id;
    std::shared_ptr<Recorder> recorder;
    bool was_cancelled;
  };
  std::vector<Running> all;
  for (int round = 0; round < 1500; ++round) {
    if (round % 5 == 0) {
      Request request;
      request.method = random() % 2 == 0 ? "GET" : "POST";
      request.url = server.url("/" + std::to_string(random() % 1000));
      request.timeouts.total = random() % 20 == 0 ? 5ms : 0ms;
      auto recorder = std::make_shared<Recorder>();
      const TransferId id = rig.start(std::move(request), recorder);
      all.push_back({id, recorder, false});
    }
    Running& one = all[random() % all.size()];
    switch (random() % 8) {
      case 0:
        rig.cancel(one.id);
        one.was_cancelled = true;
        break;
      case 1:
      case 2: rig.pause(one.id); break;
      case 3:
      case 4:
      case 5: rig.resume(one.id); break;
      default: std::this_thread::sleep_for(std::chrono::microseconds(random() % 500));
    }
  }
  std::map<std::string, int> outcomes;
  for (const Running& one : all) {
    rig.resume(one.id);
    const std::string outcome = one.recorder->outcome();
    ++outcomes[outcome];
    EXPECT_TRUE(outcome != "ok" || one.recorder->body().size() == pieces * piece_bytes);
    EXPECT_TRUE(outcome != "cancelled" || one.was_cancelled);
    const std::string body = one.recorder->body();
    for (std::size_t at = 0; at < body.size(); ++at) {
      ASSERT_EQ(body[at], static_cast<char>('a' + at / piece_bytes % 26)) << at;
    }
  }
  for (const auto& [outcome, count] : outcomes) std::cout << outcome << ": " << count << '\n';
  EXPECT_GT(outcomes["ok"], 0);
  EXPECT_GT(outcomes["connection_lost"], 0);
}

}  // namespace
}  // namespace millrace::net
