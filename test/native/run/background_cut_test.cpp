// Runs whose process ends while their provider makes an answer in the background, at each commit:
// what readers and the thread have in the end is what they have of a run that was not cut.
#include <regex>
#include <thread>

#include "durable_rig.hpp"
#include "journal/fold.hpp"
#include "journal/page.hpp"
#include "journal/record_json.hpp"
#include "run/durable/stored_run.hpp"

namespace millrace::test {
namespace {

constexpr const char* in_background = R"(,"payload":{"background":true,"apiMode":"responses"})";

// Records without their numbers: reasoning with and without an id, a search that the provider
// makes, a text with a source, and a call.
const std::vector<std::string>& long_answer() {
  static const std::vector<std::string> records{
      R"("type":"response.created","response":{"id":"resp_1","model":"m","status":"queued","instructions":"You are root."})",
      R"("type":"response.in_progress","response":{"id":"resp_1","model":"m","status":"in_progress"})",
      R"("type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[]})",
      R"("type":"response.reasoning_summary_part.added","item_id":"rs_1","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""})",
      R"("type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":0,"delta":"Let me ","obfuscation":"xyz")",
      R"("type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":0,"delta":"look.","obfuscation":"z")",
      R"("type":"response.reasoning_summary_text.done","item_id":"rs_1","output_index":0,"summary_index":0,"text":"Let me look.")",
      R"("type":"response.reasoning_summary_part.done","item_id":"rs_1","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":"Let me look."})",
      R"("type":"response.reasoning_summary_part.added","item_id":"rs_1","output_index":0,"summary_index":1,"part":{"type":"summary_text","text":""})",
      R"("type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":1,"delta":"Where?")",
      R"("type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"Let me look."},{"type":"summary_text","text":"Where?"}],"encrypted_content":"gAAAA"})",
      R"("type":"response.output_item.added","output_index":1,"item":{"id":"ws_1","type":"web_search_call","status":"in_progress"})",
      R"("type":"response.web_search_call.in_progress","output_index":1,"item_id":"ws_1")",
      R"("type":"response.web_search_call.searching","output_index":1,"item_id":"ws_1")",
      R"("type":"response.web_search_call.completed","output_index":1,"item_id":"ws_1")",
      R"("type":"response.output_item.done","output_index":1,"item":{"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search","query":"mills"}})",
      R"("type":"response.output_item.added","output_index":2,"item":{"type":"reasoning","summary":[]})",
      R"("type":"response.reasoning_summary_text.delta","output_index":2,"summary_index":0,"delta":"There.")",
      R"("type":"response.output_item.done","output_index":2,"item":{"type":"reasoning","summary":[{"type":"summary_text","text":"There."}]})",
      R"("type":"response.output_item.added","output_index":3,"item":{"id":"msg_1","type":"message","role":"assistant","content":[]})",
      R"("type":"response.content_part.added","item_id":"msg_1","output_index":3,"content_index":0,"part":{"type":"output_text","text":""})",
      R"("type":"response.output_text.delta","item_id":"msg_1","output_index":3,"content_index":0,"delta":"A \"mill\"\n")",
      R"("type":"response.output_text.delta","item_id":"msg_1","output_index":3,"content_index":0,"delta":"\ud83c")",
      R"("type":"response.output_text.delta","item_id":"msg_1","output_index":3,"content_index":0,"delta":"\udf0a turns.")",
      R"("type":"response.output_text.annotation.added","item_id":"msg_1","output_index":3,"content_index":0,"annotation_index":0,"annotation":{"type":"url_citation","url":"https://example.com","title":"Mills","start_index":0,"end_index":1})",
      R"("type":"response.output_text.done","item_id":"msg_1","output_index":3,"content_index":0,"text":"A \"mill\"\n\ud83c\udf0a turns.")",
      R"("type":"response.output_item.done","output_index":3,"item":{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"A \"mill\"\n\ud83c\udf0a turns.","annotations":[{"type":"url_citation","url":"https://example.com","title":"Mills","start_index":0,"end_index":1}]}]})",
      R"("type":"response.output_item.added","output_index":4,"item":{"id":"fc_1","type":"function_call","call_id":"call_1","name":"look","arguments":""})",
      R"("type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":4,"delta":"{\"at\":")",
      R"("type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":4,"delta":"\"it\"}")",
      R"("type":"response.function_call_arguments.done","item_id":"fc_1","output_index":4,"arguments":"{\"at\":\"it\"}")",
      R"("type":"response.output_item.done","output_index":4,"item":{"id":"fc_1","type":"function_call","call_id":"call_1","name":"look","arguments":"{\"at\":\"it\"}","status":"completed"})",
      R"("type":"response.completed","response":{"id":"resp_1","model":"m","status":"completed","output":[],"usage":{"input_tokens":7,"output_tokens":30,"total_tokens":37}})",
  };
  return records;
}

const std::vector<std::string>& last_answer() {
  static const std::vector<std::string> records{
      R"("type":"response.created","response":{"id":"resp_2","model":"m","status":"queued"})",
      R"("type":"response.output_item.added","output_index":0,"item":{"id":"msg_2","type":"message","role":"assistant","content":[]})",
      R"("type":"response.output_text.delta","item_id":"msg_2","output_index":0,"content_index":0,"delta":"So ")",
      R"("type":"response.output_text.delta","item_id":"msg_2","output_index":0,"content_index":0,"delta":"it is.")",
      R"("type":"response.output_item.done","output_index":0,"item":{"id":"msg_2","type":"message","role":"assistant","content":[{"type":"output_text","text":"So it is."}]})",
      R"("type":"response.completed","response":{"id":"resp_2","model":"m","status":"completed","output":[],"usage":{"input_tokens":40,"output_tokens":3,"total_tokens":43}})",
  };
  return records;
}

std::string stream_of(const std::vector<std::string>& records, std::size_t from,
                      bool is_numbered = true) {
  std::string body;
  for (std::size_t at = from; at < records.size(); ++at) {
    body += "data: {" + records[at];
    if (is_numbered) body += ",\"sequence_number\":" + std::to_string(at);
    body += "}\n\n";
  }
  return body;
}

// Ids that are made anew in each run become numbers, in the order in which they come.
std::string without_ids(const std::string& text) {
  static const std::regex id("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}");
  std::map<std::string, std::string> known;
  std::string out;
  auto from = text.cbegin();
  for (std::sregex_iterator at(text.begin(), text.end(), id), end; at != end; ++at) {
    out.append(from, (*at)[0].first);
    out += known.try_emplace(at->str(), "#" + std::to_string(known.size())).first->second;
    from = (*at)[0].second;
  }
  return out.append(from, text.cend());
}

// What readers get, one event a line: deltas of one part are one, however they were committed.
class ShownLines final : public run::RunReader {
 public:
  explicit ShownLines(std::uint32_t branch) : branch_(branch) {}
  bool on_record(const journal::Record& record) override {
    const auto* event = std::get_if<event::Event>(&record.body);
    if (event == nullptr || record.branch != branch_) return true;
    json::Tree body = journal::record_json(record)["event"];
    const std::string type(body["type"].string());
    if (type == "Reset") ++resets;
    const bool is_delta = type == "TextDelta" || type == "ReasoningDelta" || type == "ToolArgs";
    const std::string delta(body["delta"].string());
    if (is_delta) body.erase("delta");
    const std::string line = body.to_json();
    if (!is_delta || lines.empty() || !lines.back().starts_with(line)) lines.push_back(line);
    if (is_delta) lines.back() += delta;
    return true;
  }
  void on_end(const Error* error) override {
    EXPECT_EQ(error, nullptr) << (error == nullptr ? "" : error->message);
    ended.set_value();
  }
  [[nodiscard]] std::string text() const {
    std::string all;
    for (const std::string& line : lines) all += line + "\n";
    return without_ids(all);
  }

  std::vector<std::string> lines;
  std::size_t resets = 0;
  std::promise<void> ended;

 private:
  std::uint32_t branch_;
};

struct Outcome {
  std::string shown;
  std::string thread;
  std::string state;
  std::string tokens;
  std::size_t resets = 0;
  std::size_t posts = 0;
  std::vector<std::string> gets;
};

class BackgroundRun {
 public:
  // `by_helper`: by an agent that the run calls.
  explicit BackgroundRun(bool by_helper = false)
      : rig(by_helper ? "" : in_background, by_helper ? in_background : ""),
        branch(by_helper ? 1 : 0) {
    rig.tools["look"]->always = tool::ToolOutcome{.content = "seen"};
    rig.provider.respond = [this](const std::string&) {
      const std::string& request = rig.provider.requests.back();
      if (request.find("/chat/completions") != std::string::npos) {
        const bool is_called = rig.provider.bodies.back().find("\"h1\"") != std::string::npos;
        return is_called ? text_answer("Done.") : calls({{"h1", "helper"}});
      }
      if (request.starts_with("POST ")) {
        ++outcome.posts;
        const bool is_last = rig.provider.bodies.back().find("call_1") != std::string::npos;
        return ModelAnswer{stream_of(is_last ? last_answer() : long_answer(), 0, is_numbered), 200,
                           false, true};
      }
      outcome.gets.push_back(request.substr(request.find("/responses/")));
      const std::size_t after = request.find("starting_after=");
      if (is_silent) return ModelAnswer{"", 200, true};
      if (refusal != 0 && after != std::string::npos) {
        return ModelAnswer{R"({"error":{"message":"No."}})", refusal};
      }
      const std::size_t from =
          after == std::string::npos ? 0 : std::stoul(request.substr(after + 15)) + 1;
      const bool is_last = request.find("resp_2") != std::string::npos;
      return ModelAnswer{stream_of(is_last ? last_answer() : long_answer(), from, is_numbered), 200,
                         false, true};
    };
  }

  // The process ends with this commit, and another one goes on.
  void cut(std::size_t commit) {
    rig.on_store([&](store::StorageBackend&) { rig.disk->cut(commit, false); });
  }
  bool wait_for_cut() {
    for (int looks = 0; looks < 4000; ++looks) {
      bool is_cut = false;
      bool is_over = false;
      rig.on_store([&](store::StorageBackend& backend) {
        is_cut = rig.disk->is_cut();
        auto row = backend.run(run);
        is_over = row && row.value() && journal::is_over(row.value()->state);
      });
      if (is_cut) return true;
      if (is_over) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    ADD_FAILURE() << "The run neither ends nor is cut.";
    return false;
  }
  // The journal has how far the answer at work was read, or that it was asked for.
  journal::FoldedModel model() {
    journal::RunFold fold;
    rig.on_store([&](store::StorageBackend& backend) {
      const auto pages = backend.read(run, 0, std::size_t{1} << 24U);
      ASSERT_TRUE(pages.ok());
      for (const store::StoredPage& page : pages.value()) {
        journal::PageReader records(page.bytes, page.last, page.count);
        for (auto next = records.next(); next.ok() && next.value() != nullptr;
             next = records.next()) {
          fold.add(*next.value());
        }
      }
    });
    const auto found = fold.branches().find(branch);
    return found == fold.branches().end() ? journal::FoldedModel() : found->second.model;
  }
  void go_on() {
    rig.on_store([&](store::StorageBackend&) { rig.disk->restore(); });
    rig.crash();
  }
  Outcome finish(journal::RunState state = journal::RunState::completed) {
    const auto reader = std::make_shared<ShownLines>(branch);
    rig.on_loop([&] {
      rig.runs->find(run, [&, reader](Result<std::shared_ptr<run::RunHub>> hub) {
        ASSERT_TRUE(hub.ok());
        rig.hubs.push_back(hub.value());
        EXPECT_TRUE(hub.value()->attach(reader, 0).ok());
      });
    });
    reader->ended.get_future().wait();
    outcome.shown = reader->text();
    outcome.resets = reader->resets;
    rig.on_store([&](store::StorageBackend& backend) {
      auto messages = backend.messages("local", "thread");
      ASSERT_TRUE(messages.ok());
      static const std::regex time(R"re("createdAt":\d+|"run":"[^"]*")re");
      for (const store::MessageRow& row : messages.value()) outcome.thread += row.json + "\n";
      outcome.thread = without_ids(std::regex_replace(outcome.thread, time, ""));
      auto stored = run::load_state(backend, run);
      ASSERT_TRUE(stored.ok());
      const json::Tree& saved = stored.value().checkpoint["state"];
      outcome.tokens = saved["usage"]["llm"]["tokens"].to_json();
      outcome.state = without_ids(saved["messages"].to_json()) + outcome.tokens;
    });
    EXPECT_EQ(rig.state_of(run), state);
    return outcome;
  }

  DurableRig rig;
  std::uint32_t branch;
  store::RunId run;
  Outcome outcome;
  int refusal = 0;         // of requests for the rest of an answer
  bool is_silent = false;  // nothing comes of those
  bool is_numbered = true;
};

void expect_same(const Outcome& cut, const Outcome& whole) {
  EXPECT_EQ(cut.resets, 0U);
  EXPECT_EQ(cut.shown, whole.shown);
  EXPECT_EQ(cut.thread, whole.thread);
  EXPECT_EQ(cut.state, whole.state);
  EXPECT_EQ(cut.posts, whole.posts);
}

Outcome whole_run(bool by_helper = false) {
  BackgroundRun whole(by_helper);
  whole.run = whole.rig.start("Go.");
  return whole.finish();
}

// Cuts a run at each of its commits. Gives how often its answer was joined.
std::size_t cut_everywhere(bool by_helper) {
  const Outcome whole = whole_run(by_helper);
  EXPECT_EQ(whole.posts, 2U);
  EXPECT_NE(whole.shown.find("Where?"), std::string::npos) << whole.shown;
  std::size_t joined = 0;
  for (std::size_t commit = 2; !testing::Test::HasFailure(); ++commit) {
    SCOPED_TRACE("commit " + std::to_string(commit));
    BackgroundRun one(by_helper);
    one.cut(commit);
    one.run = one.rig.start("Go.");
    const bool is_cut = one.wait_for_cut();
    const journal::FoldedModel model = one.model();
    one.go_on();
    const Outcome outcome = one.finish();
    if (!is_cut) break;
    // Between answers, and while their names are not known, others go on as always.
    if (model.records.empty()) {
      EXPECT_TRUE(outcome.gets.empty());
      EXPECT_FALSE(model.background);
      continue;
    }
    expect_same(outcome, whole);
    for (const std::string& get : outcome.gets) {
      EXPECT_NE(get.find("starting_after="), std::string::npos) << get;
      ++joined;
    }
  }
  return joined;
}

TEST(BackgroundCut, ShowsWhatARunShowsThatIsNotCut) {
  EXPECT_GT(cut_everywhere(false), 10U);
}

TEST(BackgroundCut, ShowsWhatAnAgentShowsThatIsNotCut) {
  EXPECT_GT(cut_everywhere(true), 10U);
}

// The answer was made without it, and another one is made with it.
TEST(BackgroundCut, AnswersAMessageThatCameMeanwhile) {
  for (const bool interrupts : {false, true}) {
    SCOPED_TRACE(interrupts);
    BackgroundRun one;
    one.cut(12);
    one.run = one.rig.start("Go.");
    ASSERT_TRUE(one.wait_for_cut());
    ASSERT_FALSE(one.model().records.empty());
    one.rig.on_store([&](store::StorageBackend&) { one.rig.disk->restore(); });
    const std::string name = std::exchange(one.rig.name, "another");
    one.rig.crash();
    std::promise<Result<bool>> sent;
    one.rig.on_loop([&] {
      json::Tree message = json::Tree::object();
      message.set("id", "m");
      message.set("role", "user");
      message.set("content", "Only water mills.");
      one.rig.runs->send_message(one.run, message, interrupts, "local",
                                 [&](Result<bool> result) { sent.set_value(std::move(result)); });
    });
    ASSERT_TRUE(sent.get_future().get().ok());
    one.rig.on_loop([&] { one.rig.runs->add(name, one.rig.agent); });
    const Outcome outcome = one.finish();
    EXPECT_EQ(outcome.resets, interrupts ? 1U : 0U);
    EXPECT_EQ(outcome.gets.empty(), interrupts);
    const std::size_t question = outcome.thread.find("Only water mills.");
    ASSERT_NE(question, std::string::npos);
    EXPECT_LT(question, outcome.thread.find("So it is.")) << outcome.thread;
    if (!interrupts) {
      EXPECT_LT(outcome.thread.find("turns."), question) << outcome.thread;
    }
    EXPECT_NE(one.rig.provider.bodies.back().find("Only water mills."), std::string::npos);
  }
}

// However often it is cut: nothing is generated again, and it is not given up.
TEST(BackgroundCut, MayComeAsOftenAsItLikes) {
  const Outcome whole = whole_run();
  BackgroundRun one;
  one.cut(5);
  one.run = one.rig.start("Go.");
  constexpr std::int64_t last_text = 24;
  std::size_t cuts = 0;
  bool is_within = true;  // the first answer
  while (is_within && one.wait_for_cut()) {
    ++cuts;
    const journal::FoldedModel model = one.model();
    is_within = model.response_id == "resp_1" && !model.records.empty();
    if (!is_within || model.upstream_seq > last_text) break;
    one.go_on();
    one.cut(2);
  }
  one.go_on();
  EXPECT_GT(cuts, 5U);
  const Outcome outcome = one.finish();
  if (is_within) expect_same(outcome, whole);
}

// A provider that rejects the number, or has the answer no longer: readers get a reset.
TEST(BackgroundCut, TakesTheAnswerBackWhereTheProviderDoesNotGoOn) {
  for (const int status : {400, 404}) {
    SCOPED_TRACE(status);
    BackgroundRun one;
    one.refusal = status;
    one.cut(12);
    one.run = one.rig.start("Go.");
    ASSERT_TRUE(one.wait_for_cut());
    ASSERT_FALSE(one.model().records.empty());
    one.go_on();
    const Outcome outcome = one.finish();
    EXPECT_EQ(outcome.resets, 1U);
    EXPECT_EQ(outcome.posts, status == 404 ? 3U : 2U);
    EXPECT_EQ(outcome.gets.size(), status == 404 ? 1U : 2U);
    EXPECT_NE(outcome.shown.find(R"("type":"Retry")"), std::string::npos);
    EXPECT_EQ(outcome.tokens, whole_run().tokens);
  }
}

// A provider that does not number its records, and the journals of earlier releases: the answer is
// read from its beginning. A process that ends before it comes leaves the same to the next one.
TEST(BackgroundCut, ReadsFromTheBeginningWhereNothingSaysHowFarItWasRead) {
  const Outcome whole = whole_run();
  BackgroundRun one;
  one.is_numbered = false;
  one.cut(12);
  one.run = one.rig.start("Go.");
  for (const std::size_t commit : {1U, 1U, 2U}) {
    ASSERT_TRUE(one.wait_for_cut());
    const journal::FoldedModel model = one.model();
    EXPECT_EQ(model.response_id, "resp_1");
    EXPECT_TRUE(model.records.empty());
    one.go_on();
    one.cut(commit);
  }
  ASSERT_TRUE(one.wait_for_cut());
  one.go_on();
  const Outcome outcome = one.finish();
  EXPECT_EQ(outcome.posts, 2U);
  EXPECT_GE(outcome.resets, 1U);
  ASSERT_FALSE(outcome.gets.empty());
  EXPECT_EQ(outcome.gets.back(), "/responses/resp_1?stream=true");
  EXPECT_EQ(outcome.state, whole.state);
}

// What is open is closed where the rest of the answer never comes.
TEST(BackgroundCut, EndsWhatReadersHaveOpenWhereTheRunIsStopped) {
  BackgroundRun one;
  one.is_silent = true;
  one.cut(17);
  one.run = one.rig.start("Go.");
  ASSERT_TRUE(one.wait_for_cut());
  one.go_on();
  for (bool is_joined = false; !is_joined;)
    one.rig.on_loop([&] { is_joined = !one.outcome.gets.empty(); });
  one.rig.on_loop([&] { one.rig.runs->stop(one.run, "user", "test"); });
  const Outcome outcome = one.finish(journal::RunState::cancelled);
  const auto count = [&](const std::string& word) {
    std::size_t found = 0;
    for (std::size_t at = 0; (at = outcome.shown.find(word, at)) != std::string::npos; ++at)
      ++found;
    return found;
  };
  for (const std::string part : {"Text", "Reasoning", "ReasoningSpan", "Tool", "Step"}) {
    EXPECT_EQ(count("\"type\":\"" + part + "Start\""), count("\"type\":\"" + part + "End\""))
        << outcome.shown;
  }
  EXPECT_EQ(outcome.resets, 0U);
}

}  // namespace
}  // namespace millrace::test
