// Messages that the user sends to a run at work, whose process ends at any of its commits, and to
// runs that nobody works on.
#include <cstddef>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "durable_rig.hpp"

namespace millrace::run {
namespace {

using journal::RunState;
using json::Tree;
using test::calls;
using test::DurableRig;
using test::text_answer;

constexpr std::string_view sent_text = "In euros, please.";

constexpr std::string_view second_text = "Without tax.";

std::size_t times_in(std::string_view text, std::string_view sent) {
  std::size_t times = 0;
  for (std::size_t at = text.find(sent); at != std::string_view::npos;
       at = text.find(sent, at + 1)) {
    ++times;
  }
  return times;
}

// When the message is sent, and how.
struct Sending {
  const char* name;
  bool interrupts = false;
  bool comes_late = false;  // behind the result that the next request to the model waits for
  bool is_one_of_two = false;
};

Result<bool> send_text(DurableRig& rig, const store::RunId& run, bool interrupts,
                       std::string_view text) {
  const auto sent = std::make_shared<std::promise<Result<bool>>>();
  rig.on_loop([&] {
    Tree message = Tree::object();
    message.set("id", text == sent_text ? "m" : "m2");
    message.set("role", "user");
    message.set("content", text);
    rig.runs->send_message(run, message, interrupts, "local",
                           [sent](Result<bool> result) { sent->set_value(std::move(result)); });
  });
  return sent->get_future().get();
}

void finish_call(DurableRig& rig) {
  rig.on_loop([&] {
    auto& open = rig.tools["look"]->open;
    if (const auto call = open.extract("a")) call.mapped()->finished({"seen"});
  });
}

// Gives the number of commits from the sending on.
std::size_t send_through_cut(const Sending& how, std::size_t cut, bool is_reported) {
  SCOPED_TRACE(std::string(how.name) + ", cut at " + std::to_string(cut) +
               (is_reported ? ", reported" : ", not reported"));
  DurableRig rig;
  rig.provider.respond = [](const std::string& body) {
    return body.find(R"("role":"tool")") == std::string::npos ? calls({{"a", "look"}})
                                                              : text_answer("Done.");
  };
  const store::RunId run = rig.start("What does it cost?");
  rig.wait_for_call("look", "a");
  rig.on_loop([&] { rig.tools["look"]->always = tool::ToolOutcome{"seen"}; });
  rig.on_store([&](store::StorageBackend&) { rig.disk->cut(cut, is_reported); });
  if (how.comes_late) finish_call(rig);
  std::map<std::string_view, bool> are_safe;
  are_safe[sent_text] = send_text(rig, run, how.interrupts, sent_text).ok();
  if (how.is_one_of_two) {
    are_safe[second_text] = send_text(rig, run, how.interrupts, second_text).ok();
  }
  finish_call(rig);
  for (bool is_over = false; !is_over;) {
    rig.on_loop([&] { is_over = rig.runs->at_work() == 0; });
  }
  std::size_t commits = 0;
  rig.on_store([&](store::StorageBackend&) {
    commits = rig.disk->commits();
    rig.disk->restore();
  });
  rig.crash();
  const auto whole = rig.read(run, 0);
  EXPECT_EQ(rig.state_of(run), RunState::completed);
  EXPECT_EQ(whole->order.back(), "/run");
  std::string thread;
  bool is_answered = false;
  rig.on_store([&](store::StorageBackend& backend) {
    const auto rows = backend.messages("local", "thread");
    for (const store::MessageRow& row : rows.value()) thread += row.json + "\n";
    is_answered = rows.value().back().json.find("Done.") != std::string::npos;
  });
  EXPECT_TRUE(is_answered) << thread;
  for (const auto& [text, is_safe] : are_safe) {
    const std::size_t entered = times_in(rig.provider.bodies.back(), text);
    EXPECT_LE(entered, 1U) << rig.provider.bodies.back();
    EXPECT_EQ(times_in(thread, text), entered) << thread;
    if (is_safe) {
      EXPECT_EQ(entered, 1U) << thread;
    }
  }
  return commits;
}

class SentMessages : public testing::TestWithParam<Sending> {};

TEST_P(SentMessages, EnterOnceWhereverTheProcessEnds) {
  const std::size_t commits = send_through_cut(GetParam(), 1000, true);
  ASSERT_GT(commits, 2U);
  for (std::size_t cut = 0; cut <= commits && !HasFailure(); ++cut) {
    send_through_cut(GetParam(), cut, true);
    send_through_cut(GetParam(), cut, false);
  }
}

INSTANTIATE_TEST_SUITE_P(All, SentMessages,
                         testing::Values(Sending{"sent"}, Sending{"sent late", false, true},
                                         Sending{"interrupting", true},
                                         Sending{"interrupting late", true, true},
                                         Sending{"two", false, false, true},
                                         Sending{"two late", false, true, true},
                                         Sending{"two interrupting", true, false, true}),
                         [](const testing::TestParamInfo<Sending>& param) {
                           std::string name(param.param.name);
                           for (char& c : name) c = c == ' ' ? '_' : c;
                           return name;
                         });

// A run that no process works on: its process ended, and the next one does not have its agent yet.
class SentToLeft : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    rig.provider.respond = [](const std::string& body) {
      return body.find(R"("role":"tool")") == std::string::npos ? calls({{"a", "put"}})
                                                                : text_answer("Done.");
    };
  }
  void begin() {
    run = rig.start("What does it cost?");
    rig.wait_for_call("put", "a");
    rig.name = "another";
  }
  // An interruption aborts the call that was cut.
  void expect_taken_once() {
    rig.on_loop([&] {
      if (!GetParam()) rig.tools["put"]->always = tool::ToolOutcome{"seen"};
      rig.runs->add("agent", rig.agent);
    });
    rig.read(run, 0);
    EXPECT_EQ(rig.state_of(run), RunState::completed);
    const std::string& body = rig.provider.bodies.back();
    EXPECT_EQ(times_in(body, sent_text), 1U) << body;
    EXPECT_LT(body.find(R"("role":"tool")"), body.find(sent_text)) << body;
    EXPECT_EQ(times_in(body, "aborted"), GetParam() ? 1U : 0U) << body;
    EXPECT_EQ(times_in(body, "seen"), GetParam() ? 0U : 1U) << body;
    std::string thread;
    rig.on_store([&](store::StorageBackend& backend) {
      const auto rows = backend.messages("local", "thread");
      for (const store::MessageRow& row : rows.value()) thread += row.json + "\n";
    });
    EXPECT_EQ(times_in(thread, sent_text), 1U) << thread;
    const bool is_aborted = GetParam();
    EXPECT_EQ(times_in(thread, R"("content":"The call was aborted)"), is_aborted ? 1U : 0U);
    EXPECT_EQ(times_in(thread, R"("content":"seen")"), is_aborted ? 0U : 1U) << thread;
  }

  DurableRig rig;
  store::RunId run;
};

TEST_P(SentToLeft, EntersWhereTheRunGoesOn) {
  begin();
  rig.crash();
  ASSERT_TRUE(send_text(rig, run, GetParam(), sent_text).ok());
  EXPECT_EQ(rig.state_of(run), RunState::running);
  rig.crash();
  expect_taken_once();
}

TEST_P(SentToLeft, EntersWhereAParkedRunGoesOn) {
  begin();
  rig.crash();
  const std::string version = std::exchange(rig.agent.version, "another");
  rig.on_loop([&] {
    rig.runs->demand_versions();
    rig.runs->add("agent", rig.agent);
  });
  while (rig.state_of(run) != RunState::parked) continue;
  ASSERT_TRUE(send_text(rig, run, GetParam(), sent_text).ok());
  EXPECT_EQ(rig.state_of(run), RunState::parked);
  rig.agent.version = version;
  expect_taken_once();
}

TEST_P(SentToLeft, DoesNotShortenTheTimeThatNobodyWorkedOnIt) {
  begin();
  rig.crash();
  rig.store_ms += 60'000;
  ASSERT_TRUE(send_text(rig, run, GetParam(), sent_text).ok());
  rig.store_ms += 1000;
  rig.on_store([&](store::StorageBackend& backend) {
    const auto claim = backend.claim_run(run, "next").value();
    ASSERT_TRUE(claim);
    EXPECT_EQ(claim->downtime_ms, 61'000);
  });
}

TEST_P(SentToLeft, ReachesTheEnvironmentThatHasTheRun) {
  begin();
  rig.crash();
  std::shared_ptr<RunRegistry> other;
  rig.on_loop([&] {
    rig.tools["put"]->open.clear();
    other = rig.environment("other");
    other->add("agent", rig.agent);
  });
  rig.wait_for_call("put", "a");
  ASSERT_TRUE(send_text(rig, run, GetParam(), sent_text).ok());
  rig.on_loop([&] {
    auto& open = rig.tools["put"]->open;
    if (const auto call = open.extract("a")) call.mapped()->finished({"seen"});
  });
  while (rig.state_of(run) != RunState::completed) continue;
  EXPECT_EQ(times_in(rig.provider.bodies.back(), sent_text), 1U);
  rig.on_loop([&] { other.reset(); });
}

TEST_P(SentToLeft, EntersTheFirstRequestOfARunThatWaitsForItsTurn) {
  begin();
  std::promise<Result<StartedRun>> started;
  rig.on_loop([&] {
    StartRequest request;
    request.name = "agent";
    request.principal = "local";
    request.may_wait = true;
    request.input.thread_id = "thread";
    request.input.run_id = "reader-2";
    request.input.messages_json = R"([{"id":"v","role":"user","content":"And then?"}])";
    rig.runs->start(std::move(request),
                    [&](Result<StartedRun> result) { started.set_value(std::move(result)); });
  });
  const auto behind = started.get_future().get();
  ASSERT_TRUE(behind.ok());
  const store::RunId second = behind.value().run;
  EXPECT_EQ(rig.state_of(second), RunState::queued);
  ASSERT_TRUE(send_text(rig, second, GetParam(), sent_text).ok());
  rig.on_loop([&] { rig.tools["put"]->always = tool::ToolOutcome{"seen"}; });
  rig.finish("put", "a", {"seen"});
  while (rig.state_of(second) != RunState::completed) continue;
  for (const std::string& body : rig.provider.bodies) {
    const bool is_of_second = body.find("And then?") != std::string::npos;
    EXPECT_EQ(times_in(body, sent_text), is_of_second ? 1U : 0U) << body;
    if (is_of_second) {
      EXPECT_LT(body.find("And then?"), body.find(sent_text)) << body;
    }
  }
}

TEST_P(SentToLeft, IsPartOfTheConversationWhereTheRunIsStopped) {
  begin();
  rig.crash();
  ASSERT_TRUE(send_text(rig, run, GetParam(), sent_text).ok());
  const auto stopped = rig.request<std::string>([&](RunRequests& requests, auto done) {
    requests.stop(run.text(), "local", {}, {}, std::move(done));
  });
  ASSERT_TRUE(stopped.ok());
  EXPECT_EQ(rig.state_of(run), RunState::cancelled);
  rig.on_store([&](store::StorageBackend& backend) {
    const auto rows = backend.messages("local", "thread");
    EXPECT_EQ(times_in(rows.value().back().json, sent_text), 1U);
  });
  EXPECT_EQ(send_text(rig, run, GetParam(), second_text).error().code, Errc::invalid_state);
}

INSTANTIATE_TEST_SUITE_P(All, SentToLeft, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& param) {
                           return param.param ? "interrupting" : "sent";
                         });

// A run that waits for an approval, and has messages of the user.
class SentToWaiting : public testing::Test {
 protected:
  void SetUp() override {
    rig.provider.respond = [](const std::string& body) {
      return body.find(R"("role":"tool")") == std::string::npos ? calls({{"a", "send"}})
                                                                : text_answer("Done.");
    };
    rig.tools["send"]->always = tool::ToolOutcome{"sent"};
    run = rig.start("Send it.");
    while (rig.state_of(run) != RunState::waiting) continue;
    open = rig.read(run, 0)->interrupts.at(0);
  }

  Result<std::string> decide() {
    return rig.request<std::string>([&](RunRequests& requests, auto done) {
      requests.decide(run.text(), open, "local", Tree::parse(R"({"approved":true})").value(),
                      std::move(done));
    });
  }

  std::string thread() {
    std::string text;
    rig.on_store([&](store::StorageBackend& backend) {
      const auto rows = backend.messages("local", "thread");
      for (const store::MessageRow& row : rows.value()) text += row.json + "\n";
    });
    return text;
  }

  DurableRig rig;
  store::RunId run;
  std::string open;
};

TEST_F(SentToWaiting, EntersOnceBehindTheAnswerAlsoAfterACrash) {
  ASSERT_TRUE(send_text(rig, run, false, sent_text).ok());
  ASSERT_TRUE(send_text(rig, run, false, sent_text).ok());
  rig.crash();
  ASSERT_TRUE(send_text(rig, run, false, second_text).ok());
  EXPECT_EQ(rig.state_of(run), RunState::waiting);
  ASSERT_TRUE(decide().ok());
  while (rig.state_of(run) != RunState::completed) continue;
  EXPECT_EQ(rig.provider.bodies.size(), 2U);
  const std::string& body = rig.provider.bodies.back();
  EXPECT_EQ(times_in(body, sent_text), 1U) << body;
  EXPECT_LT(body.find(R"("role":"tool")"), body.find(sent_text)) << body;
  EXPECT_LT(body.find(sent_text), body.find(second_text)) << body;
  EXPECT_EQ(times_in(thread(), sent_text), 1U) << thread();
}

TEST_F(SentToWaiting, IsPartOfTheConversationWhereTheRunEnds) {
  ASSERT_TRUE(send_text(rig, run, false, sent_text).ok());
  const auto stopped = rig.request<std::string>([&](RunRequests& requests, auto done) {
    requests.stop(run.text(), "local", {}, {}, std::move(done));
  });
  ASSERT_TRUE(stopped.ok());
  EXPECT_EQ(rig.state_of(run), RunState::cancelled);
  EXPECT_EQ(times_in(thread(), sent_text), 1U) << thread();
  EXPECT_EQ(send_text(rig, run, false, second_text).error().code, Errc::invalid_state);
}

TEST_F(SentToWaiting, IsRejectedWhereItInterrupts) {
  EXPECT_EQ(send_text(rig, run, true, sent_text).error().code, Errc::invalid_state);
  EXPECT_EQ(rig.state_of(run), RunState::waiting);
}

}  // namespace
}  // namespace millrace::run
