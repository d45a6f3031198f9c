#include "growth_entries.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <utility>

#include "adapter/decoder.hpp"
#include "agent/general_agent.hpp"
#include "agent/state.hpp"
#include "agent/state_messages.hpp"
#include "agent/step/step_machine.hpp"
#include "encoder/ag_ui.hpp"
#include "encoder/completion.hpp"
#include "encoder/lobe.hpp"
#include "event/codec.hpp"
#include "message/fold.hpp"
#include "message/history.hpp"
#include "model/call/attempt_events.hpp"
#include "model/payload/request.hpp"
#include "run/input.hpp"

namespace millrace::fuzz {
namespace {

using json::Tree;

constexpr std::int64_t now_ms = 1'700'000'000'000;

// One step of an agent with the rows, up to the question to the model; with `chunk` also the step
// behind it, in which every tool that is called fails.
void run_steps(const Tree& rows, Tree chunk, IdSource& ids) {
  Tree state = agent::initial_state(Tree::object(), now_ms);
  state.set("messages", rows);
  Tree context;
  for (int step = 0; step < 2; ++step) {
    agent::StepOptions options;
    options.model = true;
    options.history = true;
    options.lean = true;
    options.decide = [](Tree& given, const Tree& requested) -> Tree {
      Tree decided = agent::decide(given, requested, Tree::object(), Tree::object(),
                                   [](std::string_view, std::string_view) { return false; });
      Tree* found = decided.find("instructions");
      return found == nullptr ? Tree() : std::move(*found);
    };
    agent::StepMachine machine(std::move(options), ids);
    machine.begin(std::move(state), std::move(context), now_ms);
    while (true) {
      Tree todo = machine.take();
      if (Tree* outcome = todo.find("outcome")) {
        state = std::move(outcome->at("newState"));
        Tree* next = outcome->find("nextContext");
        context = next == nullptr ? Tree() : std::move(*next);
        break;
      }
      if (todo["actions"].items().empty()) return;
      for (const Tree& action : todo["actions"].items()) {
        const auto id = static_cast<std::uint64_t>(action["id"].integer_or(0));
        if (action["kind"].string() != "model") {
          machine.fail(id, agent::error_tree(make_error(Errc::internal)), now_ms);
          continue;
        }
        (void)agent::messages_of(action["payload"]["payload"]["messages"]);
        if (!chunk.is_object()) return;
        machine.progress(id, std::exchange(chunk, Tree()));
        machine.complete(id, Tree(), now_ms);
      }
    }
    if (!context.is_object()) return;
  }
}

void run_agent(const Tree& shape, std::string_view text) {
  CountingIds ids("id-");
  const std::string format(shape["of"].string());
  run::InputOptions options;
  options.format = format;
  options.from_client = true;
  const auto input = run::read_agent_input(text, options, ids);
  if (!input) return;
  const auto rows = agent::state_messages_of(input.value().messages_json);
  if (rows) run_steps(rows.value(), Tree(), ids);
  // Without tools of its own the agent is a chat.
  std::string chat = R"({"model":"m","format":"canonical","messages":)";
  chat.append(input.value().messages_json);
  if (!input.value().tools_json.empty()) chat.append(",\"tools\":" + input.value().tools_json);
  (void)model::read_payload(chat + "}", ids);
}

void run_chat(const Tree& shape, std::string_view text) {
  CountingIds ids("id-");
  std::string settings =
      R"({"project":"p","accountId":"a","accessKeyId":"AKID","secretAccessKey":"s")";
  json::append_member(settings, "provider", shape["of"].string());
  json::append_member(settings, "apiKey", "test-key");
  const auto config = model::read_config(settings + "}");
  if (!config) return;
  auto payload = model::read_payload(text, ids);
  if (!payload) return;
  payload.value().leaves_out = true;
  (void)model::build_chat(config.value(), payload.value(), ids,
                          {std::chrono::system_clock::time_point(), 0, "token", {}});
}

void run_turn(std::string_view text) {
  CountingIds ids("id-");
  auto chunk = Tree::parse(text);
  const auto rows = Tree::parse(R"([{"id":"1","role":"user","content":"Hi"}])");
  if (chunk && rows) run_steps(rows.value(), std::move(chunk).value(), ids);
}

// Every reader of an answer at once.
class Readers final : public event::EventSink {
 public:
  explicit Readers(IdSource& ids) : folder_(ids) { ag_ui_.start(); }

  void on_event(const event::Event& event) override {
    ag_ui_.on_event(event);
    lobe_.on_event(event);
    completion_.on_event(event);
    std::string text = "[";
    event::write_json(text, event, spelling_);
    (void)folder_.feed(text + "]");
  }

  void finish() {
    ag_ui_.finish();
    lobe_.finish();
    (void)completion_.to_json(encoder::CompletionFacts{});
    (void)folder_.messages_json();
  }

 private:
  encoder::AgUiEncoder ag_ui_{{"thread", "run", "", "1.0"}};
  encoder::LobeEncoder lobe_{encoder::LobeOptions{}};
  encoder::Completion completion_;
  event::Spelling spelling_;
  message::Folder folder_;
};

void run_wire(const Tree& shape, std::string_view text) {
  const adapter::Wire* wire = adapter::find_wire(shape["of"].string());
  json::Document document(json::data_depth_limit);
  const auto records = document.parse(text);
  if (wire == nullptr || !records) return;
  const bool is_lines = wire->framing == adapter::FramingKind::ndjson;
  std::string bytes;
  for (const json::Value record : records.value().items()) {
    const bool is_named = record["event"].is_string() && record["data"].exists();
    if (is_named && !is_lines)
      bytes.append("event: ").append(record["event"].string()).append("\n");
    if (!is_lines) bytes.append("data: ");
    bytes.append((is_named ? record["data"] : record).to_json());
    bytes.append(is_lines ? "\n" : "\n\n");
  }
  CountingIds ids("id-");
  Readers readers(ids);
  const model::VoidIds none;
  const std::vector<model::Tool> tools;
  model::AttemptEvents attempt(readers, ids, none, tools, "openai", "m");
  adapter::Decoder decoder(*wire, {}, ids, attempt);
  (void)decoder.feed(bytes);
  (void)decoder.finish();
  attempt.release();
  readers.finish();
}

void run_events(std::string_view text) {
  CountingIds ids("id-");
  message::Folder folder(ids);
  if (!folder.feed(text)) return;
  message::Messages messages = folder.messages();
  (void)message::repair_history(messages, ids);
}

}  // namespace

void run_entry(const Tree& shape, std::string_view text) {
  const std::string_view entry = shape["entry"].string();
  if (entry == "agent") run_agent(shape, text);
  if (entry == "chat") run_chat(shape, text);
  if (entry == "turn") run_turn(text);
  if (entry == "wire") run_wire(shape, text);
  if (entry == "events") run_events(text);
}

}  // namespace millrace::fuzz
