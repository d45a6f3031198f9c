// An answer that its provider makes in the background: when the call asks for it, and when it ends.
#include "model/call/background.hpp"

#include "call_rig.hpp"

namespace millrace::model {
namespace {

class BackgroundRig {
 public:
  explicit BackgroundRig(std::string_view members = R"("background":true)", int max_retries = 2)
      : call_(options(max_retries), payload(members), services_, host_, log_) {
    call_.start(now());
  }

  void answer(std::string_view body, int status = 200) {
    net::ResponseHead head;
    head.status = status;
    call_.on_head(std::move(head), now());
    call_.on_data(body, now());
    call_.on_done(std::nullopt, now());
  }
  void breaks_off(std::string_view body) {
    net::ResponseHead head;
    head.status = 200;
    call_.on_head(std::move(head), now());
    call_.on_data(body, now());
    call_.on_done(make_error(Errc::connection_lost), now());
  }
  void timer() {
    elapsed_ += host_.waits.back();
    call_.on_timer(now());
  }
  [[nodiscard]] Moment now() const {
    return {std::chrono::steady_clock::time_point(elapsed_), Time(std::chrono::seconds(1))};
  }
  [[nodiscard]] std::string last_request() const {
    const net::Request& request = host_.sent.back();
    return request.method + " " + request.url.substr(request.url.find("/responses"));
  }

 private:
  static CallOptions options(int max_retries) {
    return {std::vector<CallLink>{rig::link("openai", "gpt-5.2", max_retries)}, {}, {}, {}, {}};
  }
  ChatPayload payload(std::string_view members) {
    auto read = read_payload(R"({"model":"gpt-5.2","apiMode":"responses",)" + std::string(members) +
                                 R"(,"messages":[{"role":"user","content":"Hi"}]})",
                             ids_);
    EXPECT_TRUE(read.ok());
    return std::move(read).value();
  }

  CountingIds ids_{"id-"};
  rig::FixedRandom random_;
  TokenStore tokens_;
  CircuitStore circuits_;
  CallServices services_{ids_, random_, tokens_, circuits_};
  std::chrono::milliseconds elapsed_{0};

 public:
  rig::FakeHost host_;
  rig::EventLog log_;
  ModelCall call_;
};

constexpr std::string_view queued =
    R"({"id":"resp_1","object":"response","model":"m","status":"queued"})";
constexpr std::string_view completed =
    R"({"id":"resp_1","object":"response","model":"m","status":"completed","output":[{"id":"msg_1",)"
    R"("type":"message","role":"assistant","content":[{"type":"output_text","text":"Hello"}]}]})";
constexpr std::string_view begun =
    "data: {\"type\":\"response.created\",\"sequence_number\":0,"
    "\"response\":{\"id\":\"resp_1\",\"status\":\"in_progress\"}}\n\n"
    "data: {\"type\":\"response.output_text.delta\",\"sequence_number\":1,"
    "\"item_id\":\"msg_1\",\"output_index\":0,\"delta\":\"Hel\"}\n\nda";
constexpr std::string_view rest =
    "data: {\"type\":\"response.output_text.delta\",\"sequence_number\":2,"
    "\"item_id\":\"msg_1\",\"output_index\":0,\"delta\":\"lo\"}\n\n"
    "data: {\"type\":\"response.completed\",\"sequence_number\":3,"
    "\"response\":{\"id\":\"resp_1\",\"status\":\"completed\"}}\n\n";

TEST(Background, IsAskedForUntilItIsThere) {
  BackgroundRig rig;
  EXPECT_NE(rig.host_.sent.at(0).body.find(R"("store":true)"), std::string::npos);
  rig.answer(queued);
  EXPECT_FALSE(rig.call_.ended());
  EXPECT_TRUE(rig.log_.has(R"("name":"millrace.response","value":{"id":"resp_1")"));
  rig.timer();
  EXPECT_EQ(rig.last_request(), "GET /responses/resp_1");
  EXPECT_FALSE(rig.host_.sent.back().has_body);
  rig.answer(completed);
  EXPECT_TRUE(rig.call_.ended());
  EXPECT_FALSE(rig.call_.error());
  EXPECT_TRUE(rig.log_.has(R"("delta":"Hello")"));
  EXPECT_EQ(rig.call_.attempts().size(), 1U);
}

TEST(Background, IsJoinedBehindTheLastRecord) {
  BackgroundRig rig;
  rig.breaks_off(begun);
  EXPECT_EQ(rig.host_.waits.back(), std::chrono::milliseconds(0));
  rig.timer();
  EXPECT_EQ(rig.last_request(), "GET /responses/resp_1?stream=true&starting_after=1");
  rig.answer(rest);
  EXPECT_TRUE(rig.call_.ended());
  EXPECT_FALSE(rig.call_.error());
  EXPECT_TRUE(rig.log_.has(R"("delta":"lo")"));
}

TEST(Background, EndsWhereNothingMoreComes) {
  BackgroundRig rig(R"("background":true)", 1);
  rig.breaks_off(begun);
  rig.timer();
  rig.breaks_off("");
  rig.timer();
  rig.breaks_off("");
  EXPECT_TRUE(rig.call_.ended());
  EXPECT_EQ(rig.call_.error()->code, Errc::connection_lost);
  // It is not asked for anew.
  EXPECT_EQ(rig.host_.sent.size(), 3U);
}

TEST(Background, EndsWithARefusal) {
  BackgroundRig rig;
  rig.answer(queued);
  rig.timer();
  rig.answer(R"({"error":{"message":"No response found","code":"not_found"}})", 404);
  EXPECT_TRUE(rig.call_.ended());
  EXPECT_EQ(rig.call_.error()->upstream_status, 404);
}

TEST(Background, HasALimit) {
  BackgroundRig rig;
  rig.answer(queued);
  for (int polls = 0; polls < 5000 && !rig.call_.ended(); ++polls) {
    rig.timer();
    if (!rig.call_.ended()) rig.answer(queued);
  }
  EXPECT_TRUE(rig.call_.ended());
  EXPECT_EQ(rig.call_.error()->code, Errc::total_timeout);
  EXPECT_TRUE(rig.host_.dispatched.empty());
}

TEST(Background, IsCancelledByAStop) {
  BackgroundRig rig;
  rig.answer(queued);
  rig.call_.stop(rig.now());
  ASSERT_EQ(rig.host_.dispatched.size(), 1U);
  EXPECT_EQ(rig.host_.dispatched[0].method, "POST");
  EXPECT_TRUE(rig.host_.dispatched[0].url.ends_with("/responses/resp_1/cancel"));
  EXPECT_EQ(rig.call_.error()->code, Errc::cancelled);
}

TEST(Background, IsCancelledWhileItStreams) {
  BackgroundRig rig;
  net::ResponseHead head;
  head.status = 200;
  rig.call_.on_head(std::move(head), rig.now());
  rig.call_.on_data(begun, rig.now());
  rig.call_.stop(rig.now());
  EXPECT_EQ(rig.host_.dispatched.size(), 1U);
}

TEST(Background, HasToBeStored) {
  const BackgroundRig rig(R"("background":true,"store":false)");
  EXPECT_TRUE(rig.host_.sent.empty());
  EXPECT_EQ(rig.call_.error()->code, Errc::invalid_body);
}

TEST(Background, IsNoAnswerThatWasNotAskedForSo) {
  BackgroundRig rig(R"("store":true)");
  rig.answer(queued);
  EXPECT_TRUE(rig.call_.ended());
  EXPECT_FALSE(rig.call_.error());
  EXPECT_NE(rig.call_.report_json().find(R"("incomplete":{"reason":"queued"})"), std::string::npos);
}

}  // namespace
}  // namespace millrace::model
