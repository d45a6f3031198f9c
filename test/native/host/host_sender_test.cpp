#include "host/host_sender.hpp"

#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <string>
#include <vector>

namespace millrace::host {
namespace {

class Recorder final : public net::TransferHandler {
 public:
  void on_head(net::ResponseHead head) override { status = head.status; }
  void on_data(std::string_view decoded) override { data.append(decoded); }
  void on_done(std::optional<Error> error) override {
    done = true;
    code = error ? std::string(error->code_name()) : "";
  }
  int status = 0;
  std::string data;
  bool done = false;
  std::string code;
};

// A sender without a thread: what it posts runs with turn().
class HostSenderTest : public testing::Test {
 protected:
  net::TransferId start() {
    net::Request request;
    request.url = "https://example.com/v1";
    request.method = "POST";
    return sender->start(std::move(request), handler);
  }
  void turn() {
    loop.start();
    std::promise<void> done;
    loop.post([&] { done.set_value(); });
    done.get_future().wait();
    loop.stop();
  }

  os::EventLoop loop;
  std::vector<std::string> items;
  std::shared_ptr<Recorder> handler = std::make_shared<Recorder>();
  std::shared_ptr<HostSender> sender = std::make_shared<HostSender>(
      loop, [this](const std::string& item) { items.push_back(item); }, [this] { ++moves; });
  int moves = 0;
};

TEST_F(HostSenderTest, TellsWhatTheHostSaysOfATransfer) {
  const auto id = start();
  ASSERT_EQ(items.size(), 1U);
  EXPECT_NE(items[0].find(R"("type":"@fetch")"), std::string::npos);
  EXPECT_NE(items[0].find(R"("url":"https://example.com/v1")"), std::string::npos);
  EXPECT_TRUE(sender->complete(id, R"({"head":{"status":200,"headers":[["a","b"]],"url":""}})"));
  EXPECT_EQ(handler->status, 200);
  EXPECT_TRUE(sender->complete(id, R"({"data":"SGk="})"));
  EXPECT_EQ(handler->data, "Hi");
  EXPECT_NE(items.back().find("@fetched"), std::string::npos);
  EXPECT_TRUE(sender->complete(id, R"({"done":"","message":""})"));
  EXPECT_TRUE(handler->done);
  EXPECT_EQ(handler->code, "");
  // What comes late is nobody's, and what others answer is not the sender's.
  EXPECT_TRUE(sender->complete(id, R"({"data":"SGk="})"));
  EXPECT_FALSE(sender->complete(1, R"({"data":"SGk="})"));
  EXPECT_EQ(handler->data, "Hi");
}

TEST_F(HostSenderTest, KeepsWhatComesForAReaderThatLags) {
  const auto id = start();
  sender->pause(id);
  EXPECT_TRUE(sender->complete(id, R"({"data":"SGk="})"));
  EXPECT_EQ(handler->data, "");
  EXPECT_EQ(items.size(), 1U);
  sender->resume(id);
  EXPECT_EQ(handler->data, "");
  turn();
  EXPECT_EQ(handler->data, "Hi");
  EXPECT_NE(items.back().find("@fetched"), std::string::npos);
  EXPECT_EQ(moves, 1);
  // A piece without a byte is waited for, too.
  sender->pause(id);
  EXPECT_TRUE(sender->complete(id, R"({"data":""})"));
  const std::size_t reported = items.size();
  sender->resume(id);
  turn();
  EXPECT_EQ(items.size(), reported + 1);
  sender->pause(id);
  EXPECT_TRUE(sender->complete(id, R"({"data":"SGk="})"));
  EXPECT_TRUE(sender->complete(id, R"({"done":"idle_timeout"})"));
  EXPECT_EQ(handler->data, "HiHi");
  EXPECT_EQ(handler->code, "idle_timeout");
}

TEST_F(HostSenderTest, EndsACancelledTransferInTheNextTurn) {
  const auto id = start();
  sender->cancel(id);
  EXPECT_FALSE(handler->done);
  EXPECT_NE(items.back().find("@withdraw"), std::string::npos);
  turn();
  EXPECT_TRUE(handler->done);
  EXPECT_EQ(handler->code, "cancelled");
  sender->cancel(id);
  EXPECT_EQ(items.size(), 2U);
}

TEST_F(HostSenderTest, EndsATransferOfWhichNothingReadableIsTold) {
  const auto id = start();
  EXPECT_TRUE(sender->complete(id, "{nope"));
  EXPECT_TRUE(handler->done);
  EXPECT_EQ(handler->code, "connection_lost");
}

TEST_F(HostSenderTest, IsSilentAfterItsEnd) {
  const auto id = start();
  sender->end();
  EXPECT_TRUE(sender->complete(id, R"({"data":"SGk="})"));
  sender->cancel(id);
  turn();
  EXPECT_FALSE(handler->done);
  EXPECT_EQ(items.size(), 1U);
}

}  // namespace
}  // namespace millrace::host
