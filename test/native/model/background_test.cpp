// An answer that its provider makes in the background: when the call asks for it, and when it ends.
#include "model/call/background.hpp"

#include "call_rig.hpp"

namespace millrace::model {
namespace {

class BackgroundRig {
 public:
  explicit BackgroundRig(std::string_view members = R"("background":true)", int max_retries = 2,
                         KnownAnswer known = {})
      : call_(options(max_retries, std::move(known)), payload(members), services_, host_, log_) {
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
  CallOptions options(int max_retries, KnownAnswer known) {
    CallOptions made;
    made.chain = std::vector<CallLink>{rig::link("openai", "gpt-5.2", max_retries)};
    made.known = std::move(known);
    made.on_progress = [this](AnswerProgress progress) {
      if (progress.begins) noted_ = {std::string(progress.id)};
      if (progress.number) noted_.number = *progress.number;
      noted_.records += progress.records;
    };
    return made;
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
  KnownAnswer noted_;  // what another process would know
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

// What a process knew that had read so much of the answer.
KnownAnswer known_of(std::string_view read, bool fits = true, int* taken_back = nullptr) {
  BackgroundRig before;
  before.breaks_off(read);
  KnownAnswer known = before.noted_;
  known.fits = [fits] { return fits; };
  known.take_back = [taken_back] {
    if (taken_back != nullptr) ++*taken_back;
  };
  return known;
}

TEST(Background, GoesOnBehindWhatAnotherProcessRead) {
  const KnownAnswer known = known_of(begun);
  EXPECT_EQ(known.id, "resp_1");
  EXPECT_EQ(known.number, 1);
  BackgroundRig rig(R"("background":true)", 2, known);
  ASSERT_EQ(rig.host_.sent.size(), 1U);
  EXPECT_EQ(rig.last_request(), "GET /responses/resp_1?stream=true&starting_after=1");
  // The events of before come again, so that those who keep the answer have all of it.
  EXPECT_TRUE(rig.log_.has(R"("delta":"Hel")"));
  rig.answer(rest);
  EXPECT_TRUE(rig.call_.ended());
  EXPECT_FALSE(rig.call_.error());
  EXPECT_TRUE(rig.log_.has(R"("delta":"lo")"));
  EXPECT_FALSE(rig.log_.has("millrace.reset"));
  // A third process knows the rest as well.
  EXPECT_EQ(rig.noted_.number, 3);
  EXPECT_EQ(rig.noted_.id, "");
}

TEST(Background, SendsNothingWhereAnotherProcessReadTheEnd) {
  const std::string all = std::string(begun.substr(0, begun.size() - 2)) + std::string(rest);
  BackgroundRig rig(R"("background":true)", 2, known_of(all));
  EXPECT_TRUE(rig.host_.sent.empty());
  EXPECT_TRUE(rig.call_.ended());
  EXPECT_FALSE(rig.call_.error());
  EXPECT_EQ(rig.call_.attempts().size(), 1U);
}

TEST(Background, IsReadFromItsBeginningWhereTheProviderDoesNotGoOn) {
  int taken_back = 0;
  BackgroundRig rig(R"("background":true)", 0, known_of(begun, true, &taken_back));
  rig.answer(R"({"error":{"message":"No such cursor."}})", 400);
  EXPECT_EQ(taken_back, 1);
  EXPECT_TRUE(rig.log_.has("millrace.retry"));
  EXPECT_EQ(rig.last_request(), "GET /responses/resp_1?stream=true");
  rig.answer(std::string(begun.substr(0, begun.size() - 2)) + std::string(rest));
  EXPECT_TRUE(rig.call_.ended());
  EXPECT_FALSE(rig.call_.error());
  ASSERT_EQ(rig.call_.attempts().size(), 2U);
  EXPECT_EQ(rig.call_.attempts()[0].status, 400);
  EXPECT_FALSE(rig.call_.attempts()[0].counts);
  // What a later process knows is of the second reading.
  EXPECT_EQ(rig.noted_.id, "resp_1");
  EXPECT_EQ(rig.noted_.number, 3);
}

TEST(Background, IsAskedForAnewWhereItIsGone) {
  int taken_back = 0;
  BackgroundRig rig(R"("background":true)", 0, known_of(begun, true, &taken_back));
  rig.answer(R"({"error":{"message":"No response found","code":"not_found"}})", 404);
  EXPECT_EQ(taken_back, 1);
  EXPECT_EQ(rig.last_request(), "POST /responses");
}

TEST(Background, IsReadFromItsBeginningWhereReadersHaveSomethingElse) {
  int taken_back = 0;
  const BackgroundRig rig(R"("background":true)", 2, known_of(begun, false, &taken_back));
  EXPECT_EQ(taken_back, 1);
  EXPECT_EQ(rig.last_request(), "GET /responses/resp_1?stream=true");
  KnownAnswer other = known_of(begun, true, &taken_back);
  other.number = 7;
  const BackgroundRig cut(R"("background":true)", 2, other);
  EXPECT_EQ(taken_back, 2);
}

TEST(Background, GoesOnAfterABreakAsWell) {
  BackgroundRig rig(R"("background":true)", 2, known_of(begun));
  rig.breaks_off("");
  EXPECT_FALSE(rig.call_.ended());
  rig.timer();
  EXPECT_EQ(rig.last_request(), "GET /responses/resp_1?stream=true&starting_after=1");
  rig.answer(rest);
  EXPECT_TRUE(rig.call_.ended());
  EXPECT_FALSE(rig.call_.error());
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
