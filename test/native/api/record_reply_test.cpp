// Runs as answers to requests whose clients have left, or read across origins.
#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "api/job_stream.hpp"
#include "api/jobs.hpp"
#include "api/lobe_watch.hpp"
#include "api/run_reply.hpp"
#include "journal/page.hpp"
#include "os/event_loop.hpp"
#include "store/memory/memory_backend.hpp"

namespace millrace::api {
namespace {

// A client that has left, or one that takes everything.
class FakeResponse final : public http::ResponseStream {
 public:
  explicit FakeResponse(bool is_open) : is_open_(is_open) {}

  Result<void> send(int status, const http::Headers& headers, std::string_view body) override {
    MILLRACE_TRY(start(status, headers));
    write(body);
    end();
    return {};
  }
  Result<void> send_error(const Error& error, const http::Headers& headers) override {
    return send(row_of(error.code).http_status, headers, error.message);
  }
  Result<void> start(int status, const http::Headers& given) override {
    if (!is_open_) return make_error(Errc::connection_lost);
    this->status = status;
    headers = given;
    return {};
  }
  Result<void> start_sized(int status, const http::Headers& given, std::uint64_t size) override {
    static_cast<void>(size);
    return start(status, given);
  }
  bool write(std::string_view bytes) override {
    body.append(bytes);
    ++writes;
    return is_open_;
  }
  // Lets go of what it calls, as every response does at its end.
  void end() override {
    is_open_ = false;
    on_drain_ = nullptr;
    on_close_ = nullptr;
  }
  void on_drain(std::function<void()> callback) override { on_drain_ = std::move(callback); }
  void on_close(std::function<void()> callback) override {
    if (!is_open_) return callback();
    on_close_ = std::move(callback);
  }
  void on_expedite(std::function<void()> callback) override { static_cast<void>(callback); }
  [[nodiscard]] bool is_open() const override { return is_open_; }

  int status = 0;
  http::Headers headers;
  std::string body;
  int writes = 0;

 private:
  bool is_open_;
  std::function<void()> on_drain_;
  std::function<void()> on_close_;
};

// The first page of a run: its begin and so many pieces.
store::StoredPage page_of_pieces(std::uint64_t pieces) {
  journal::PageWriter writer;
  journal::Record record;
  record.body = journal::Fact(journal::Segment{"run", {}, {}, {}});
  writer.add(record);
  record.body = event::Event{event::RunStart{"thread", "run"}};
  writer.add(record);
  for (std::uint64_t piece = 0; piece < pieces; ++piece) {
    record.body =
        event::Event{event::Foreign{"CUSTOM", R"({"type":"CUSTOM","name":"piece","value":1})"}};
    writer.add(record);
  }
  journal::Page page = writer.take();
  return {page.count, page.count, std::move(page.bytes)};
}

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

class RecordReplyTest : public testing::Test {
 protected:
  void SetUp() override {
    found_.run = store::RunId::of_uuid("018f2b6e-3c4d-7a1b-8c2d-3e4f5a6b7c8d");
    loop_.start();
  }
  void TearDown() override {
    writer_.reset();
    loop_.stop();
  }
  // On the engine thread.
  void with_hub(std::uint64_t committed, bool is_over, const std::function<void()>& work) {
    std::promise<void> done;
    loop_.post([&] {
      found_.hub = std::make_shared<run::RunHub>(
          loop_, writer_, std::make_shared<run::PageBudget>(), found_.run, committed, is_over);
      work();
      found_.hub = nullptr;
      done.set_value();
    });
    done.get_future().wait();
  }

  os::EventLoop loop_;
  std::shared_ptr<store::Writer> writer_ =
      std::make_shared<store::Writer>(store::make_memory_backend());
  run::FoundRun found_;
};

TEST_F(RecordReplyTest, LeavesNoReaderForAClientThatHasLeft) {
  for (const bool is_over : {false, true}) {
    with_hub(5, is_over, [&] {
      const auto response = std::make_shared<FakeResponse>(false);
      const auto reply = std::make_shared<RunReply>(loop_, response, RunReading());
      EXPECT_TRUE(reply->start(found_).ok());
      EXPECT_EQ(found_.hub->readers(), 0U) << is_over;
    });
  }
}

TEST_F(RecordReplyTest, FollowsNoOperationForAClientThatHasLeft) {
  with_hub(5, false, [&] {
    const auto watch = std::make_shared<LobeWatch>(
        LobeWatch::Seen(),
        LobeWatch::Done([](const LobeWatch&, const Error*) { ADD_FAILURE() << "it was left"; }));
    watch->leave();
    watch->follow(found_);
    EXPECT_EQ(found_.hub->readers(), 0U);
  });
}

TEST_F(RecordReplyTest, CountsALogAsAReaderOnlyWhereItWasBegunForOne) {
  with_hub(0, false, [&] {
    store::RunRow row;
    row.run.id = found_.run;
    const auto job = std::make_shared<Job>(row, chat::JobOptions{"job"},
                                           [](const std::vector<InlineMedium>&) {});
    bool is_ready = false;
    job->read(found_.hub, [&] { is_ready = true; });
    EXPECT_EQ(found_.hub->readers(), 1U);
    EXPECT_FALSE(found_.hub->is_read());
    job->count();
    EXPECT_TRUE(found_.hub->is_read());
    job->leave();
    EXPECT_EQ(found_.hub->readers(), 0U);
    EXPECT_FALSE(is_ready);
  });
}

TEST_F(RecordReplyTest, SaysWhyTheRecordsOfAJobCannotBeReadFurther) {
  with_hub(0, false, [&] {
    store::RunRow row;
    row.run.id = found_.run;
    const auto job = std::make_shared<Job>(row, chat::JobOptions{"job"},
                                           [](const std::vector<InlineMedium>&) {});
    job->read(found_.hub, [] {});
    const auto response = std::make_shared<FakeResponse>(true);
    const auto stream =
        std::make_shared<JobStream>(loop_, nullptr, job, response, chat::Cursor{}, false);
    stream->start();
    EXPECT_TRUE(response->is_open());
    found_.hub->detach(*job);
    const Error error = make_error(Errc::store_full, "The disk is full.");
    job->on_end(&error);
    EXPECT_FALSE(response->is_open());
    const std::size_t end = response->body.rfind("event: error\ndata: ");
    ASSERT_NE(end, std::string::npos) << response->body;
    EXPECT_EQ(response->body.find("id: ", end), std::string::npos);
    EXPECT_NE(response->body.find("The disk is full.", end), std::string::npos);
    ASSERT_NE(job->cut(), nullptr);
    EXPECT_EQ(job->cut()->code, Errc::store_full);
  });
}

TEST_F(RecordReplyTest, ReadsOnFromWhatIsKnownOfAnOperation) {
  with_hub(5, false, [&] {
    const auto known = std::make_shared<LobeProjection>([](const encoder::OperationEvent&) {});
    known->last = 3;
    int done = 0;
    const auto count = [&](const LobeWatch&, const Error* error) {
      EXPECT_EQ(error, nullptr);
      ++done;
    };
    const auto watch = std::make_shared<LobeWatch>(known, count);
    watch->read_committed(found_);
    EXPECT_EQ(found_.hub->readers(), 1U);
    journal::Record record;
    for (record.seq = 4; record.seq <= 5; ++record.seq) watch->on_record(record);
    EXPECT_EQ(done, 1);
    EXPECT_EQ(known->last, 5U);
    // Nothing is new.
    std::make_shared<LobeWatch>(known, count)->read_committed(found_);
    EXPECT_EQ(done, 2);
    EXPECT_EQ(found_.hub->readers(), 0U);
  });
}

TEST_F(RecordReplyTest, SendsRecordsOfAPageTogether) {
  with_hub(0, false, [&] {
    const auto response = std::make_shared<FakeResponse>(true);
    const auto reply = std::make_shared<RunReply>(loop_, response, RunReading());
    ASSERT_TRUE(reply->start(found_).ok());
    constexpr std::uint64_t pieces = 100;
    found_.hub->publish(page_of_pieces(pieces));
    EXPECT_EQ(response->writes, 1);
    EXPECT_EQ(count_of(response->body, "\"piece\""), pieces);
    // Not all at once where there is much.
    constexpr std::uint64_t many = 10'000;
    response->writes = 0;
    store::StoredPage page = page_of_pieces(many);
    page.last += pieces + 2;
    found_.hub->publish(std::move(page));
    EXPECT_GT(response->writes, 10);
    EXPECT_LT(response->writes, 100);
    EXPECT_EQ(count_of(response->body, "\"piece\""), pieces + many);
    found_.hub->detach(*reply);
  });
}

TEST_F(RecordReplyTest, SendsWhatIsBeforeADamagedRecord) {
  with_hub(0, false, [&] {
    const auto response = std::make_shared<FakeResponse>(true);
    const auto reply = std::make_shared<RunReply>(loop_, response, RunReading());
    ASSERT_TRUE(reply->start(found_).ok());
    store::StoredPage page = page_of_pieces(3);
    page.bytes.pop_back();
    found_.hub->publish(std::move(page));
    EXPECT_EQ(count_of(response->body, "\"piece\""), 2U);
    EXPECT_EQ(count_of(response->body, "store_damaged"), 1U);
    EXPECT_FALSE(response->is_open());
  });
}

TEST_F(RecordReplyTest, ShowsPagesItsRunAndTheirRequest) {
  with_hub(0, false, [&] {
    const auto response = std::make_shared<FakeResponse>(true);
    const auto reply = std::make_shared<RunReply>(loop_, response, RunReading());
    EXPECT_TRUE(reply->start(found_).ok());
    EXPECT_EQ(response->status, 200);
    EXPECT_EQ(response->headers.find("Access-Control-Expose-Headers"),
              "Millrace-Run-Id, X-Request-ID");
    reply->on_end(nullptr);
    found_.hub->detach(*reply);
  });
}

}  // namespace
}  // namespace millrace::api
