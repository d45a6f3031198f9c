// Requests for operations: LobeHub's messages and tools as an input of the agent.
#include <algorithm>
#include <array>
#include <utility>

#include "api/agent_routes.hpp"
#include "api/api_answers.hpp"
#include "api/command_routes.hpp"
#include "api/conversations.hpp"
#include "api/jobs.hpp"
#include "api/lobe_operations.hpp"
#include "api/turn_hooks.hpp"
#include "api/turn_titles.hpp"
#include "base/shown.hpp"
#include "base/tool_name_separator.hpp"
#include "os/random_ids.hpp"
#include "run/input.hpp"
#include "run/stored_members.hpp"

namespace millrace::api {
namespace {

using json::Tree;

// What the tools and functions of an agent get of a request, as it was sent.
constexpr std::array<std::string_view, 8> context_members{
    "agentConfig", "appContext",         "initialContext",         "context",
    "maxSteps",    "modelRuntimeConfig", "userInterventionConfig", "userTimezone"};

Error wrong_request(const std::string& what) {
  return make_error(Errc::invalid_body, "The request for an operation: " + what + ".");
}

// The first of these texts that is there.
std::string first_text(std::initializer_list<const Tree*> values) {
  for (const Tree* value : values) {
    if (!value->string().empty()) return std::string(value->string());
  }
  return {};
}

// The name by which a model calls a tool of LobeHub's.
std::string called_name(const Tree& call) {
  const std::string name(call["apiName"].string());
  const std::string identifier(call["identifier"].string());
  if (identifier.empty() || identifier == name) return name;
  return identifier + std::string(tool_name_separator) + name;
}

// A message of LobeHub's as AG-UI has it.
Tree message_of(const Tree& given) {
  Tree message = Tree::object();
  const std::string_view role = given["role"].string();
  for (const std::string_view key : {"id", "role", "content", "name"}) {
    if (!given[key].is_null()) message.set(key, given[key]);
  }
  if (role == "tool") message.set("toolCallId", given["tool_call_id"]);
  if (role != "assistant" || given["tools"].items().empty()) return message;
  Tree& calls = message.set("toolCalls", Tree::array());
  for (const Tree& call : given["tools"].items()) {
    Tree& made = calls.push(Tree::object());
    made.set("id", call["id"]);
    made.set("type", "function");
    Tree& function = made.set("function", Tree::object());
    function.set("name", called_name(call));
    function.set("arguments", call["arguments"].string());
  }
  return message;
}

bool is_of_lobe(const Tree& message) {
  return message["tools"].is_array() || message["tool_call_id"].is_string();
}

Result<void> read_messages(const Tree& body, LobeCreation& creation) {
  const Tree& messages = body["messages"].is_null() ? body["initialMessages"] : body["messages"];
  if (!messages.is_null() && !messages.is_array()) {
    return wrong_request("`messages` must be an array, not " + shown_value(messages));
  }
  creation.messages = Tree::array();
  for (const Tree& message : messages.items()) {
    creation.messages.push(is_of_lobe(message) ? message_of(message) : message);
  }
  const Tree& prompt = body["prompt"];
  if (!prompt.is_null() && !prompt.is_string()) {
    return wrong_request("`prompt` must be a string, not " + shown_value(prompt));
  }
  creation.is_prompt = creation.messages.items().empty();
  if (!prompt.string().empty()) {
    Tree message = Tree::object();
    message.set("id", "msg_" + hex_id());
    message.set("role", "user");
    message.set("content", prompt);
    creation.messages.push(std::move(message));
  }
  if (!creation.messages.items().empty()) return {};
  return wrong_request("a `prompt` or `messages` are missing");
}

// Names of another type would be taken for names that are not there.
Result<void> check_names(const Tree& object, std::string_view names) {
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(' '));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    const Tree& value = object[name];
    if (value.is_null() || value.is_string()) continue;
    return wrong_request("`" + std::string(name) + "` must be a string, not " + shown_value(value));
  }
  return {};
}

}  // namespace

Result<LobeCreation> read_creation(const Tree& body, const std::string& principal,
                                   const std::vector<std::string>& allow) {
  LobeCreation creation;
  const Tree& app = body["appContext"];
  MILLRACE_TRY(check_names(body, "threadId topicId agentId slug operationId"));
  MILLRACE_TRY(check_names(app, "threadId topicId agentId"));
  creation.place.id = body["operationId"].string();
  creation.place.principal = principal;
  creation.is_named = !creation.place.id.empty();
  if (store::RunId::parse(creation.place.id)) {
    return wrong_request("`operationId` must not look like the id of a run");
  }
  creation.place.thread =
      first_text({&body["threadId"], &app["threadId"], &body["topicId"], &app["topicId"]});
  creation.agent = first_text({&body["agentId"], &body["slug"], &app["agentId"]});
  MILLRACE_TRY(read_messages(body, creation));
  const Tree& starts = body["autoStart"];
  creation.starts = starts.is_null() || starts.is_true();
  if (!creation.starts && starts.type() != json::Type::boolean_false) {
    return wrong_request("`autoStart` must be a boolean, not " + shown_value(starts));
  }
  auto hooks = read_lobe_hooks(body, allow);
  if (!hooks) return std::move(hooks).error();
  creation.hooks = std::move(hooks).value();
  if (!body["tools"].is_null()) creation.tools = body["tools"];
  for (const std::string_view member : context_members) {
    if (!body[member].is_null()) creation.context.set(member, body[member]);
  }
  return creation;
}

struct LobeOperations::Creating {
  LobeCreation creation;
  Done<Created> done;
  store::RunId run = store::RunId::next();
  Tree history = Tree::array();
  std::shared_ptr<store::ThreadUpdate> thread;  // null: as the messages of the input
  std::optional<Error> refusal;
  bool is_known = false;  // the request has begun an operation before
  TurnRequest turn;       // what the host's hooks see
  HookOutcome outcome;

  void prepare(store::StorageBackend& backend);
  // The first question of the user, as text; "" where it has none.
  [[nodiscard]] std::string question() const;
  [[nodiscard]] bool has_key(store::StorageBackend& backend) const;
  [[nodiscard]] bool may_hook() const;
  void take_hooks();
  void store_prompt(std::int64_t now);
  void store_messages(std::int64_t now);
  [[nodiscard]] store::ThreadEntry entry_of(Tree message, store::MessageRule rule,
                                            std::int64_t now) const;
};

std::string LobeOperations::Creating::question() const {
  for (const Tree& message : creation.messages.items()) {
    if (message["role"].string() != "user") continue;
    if (message["content"].is_string()) return std::string(message["content"].string());
    for (const Tree& part : message["content"].items()) {
      if (!part["text"].string().empty()) return std::string(part["text"].string());
    }
    return {};
  }
  return {};
}

bool LobeOperations::Creating::has_key(store::StorageBackend& backend) const {
  if (creation.idem_key.empty()) return false;
  const auto run = backend.run_with_key(creation.place.principal, creation.idem_key);
  return run && run.value();
}

// A prompt alone goes on with what the thread has.
void LobeOperations::Creating::prepare(store::StorageBackend& backend) {
  const LobePlace& place = creation.place;
  auto known = backend.segments(place.principal, place.id);
  if (!known) return (void)(refusal = known.error());
  for (const store::SegmentRow& row : known.value()) {
    // In another thread; the same one is compared with this request later.
    if (row.thread == place.thread) continue;
    refusal = make_error(Errc::run_conflict,
                         "Another request began the operation " + shown_text(place.id) + ".");
    return;
  }
  is_known = !known.value().empty() || has_key(backend);
  if (!creation.is_prompt || !known.value().empty()) return;
  auto rows = backend.messages(place.principal, place.thread);
  if (!rows) return (void)(refusal = rows.error());
  for (const store::MessageRow& row : rows.value()) {
    Tree message = parsed_json(row.json);
    if (message["displayOnly"].is_true()) continue;
    run::prepare_for_model(message);
    history.push(std::move(message));
  }
}

// Whether the last message is one that hooks of the host see.
bool LobeOperations::Creating::may_hook() const {
  if (is_known || creation.messages.items().empty()) return false;
  const Tree& last = creation.messages.items().back();
  return last["role"].string() == "user" && last["content"].is_string();
}

// What the hooks made of the last message: the thread has it as it was left, and the model reads
// the notes behind it.
void LobeOperations::Creating::take_hooks() {
  Tree& last = creation.messages.items().back();
  last.set("content", turn.message.text);
  if (last["id"].string().empty()) last.set("id", "msg_" + hex_id());
  if (!outcome.notes.items().empty()) last.set("notes", outcome.notes);
  if (!outcome.ran.items().empty()) last.set("pipelines", outcome.ran);
}

store::ThreadEntry LobeOperations::Creating::entry_of(Tree message, store::MessageRule rule,
                                                      std::int64_t now) const {
  if (message["id"].string().empty()) message.set("id", "msg_" + hex_id());
  message.set("createdAt", Tree::integer(now));
  message.set("run", run.text());
  return {std::string(message["id"].string()), message.to_json(json::Surrogates::keep), rule};
}

void LobeOperations::Creating::store_prompt(std::int64_t now) {
  thread = std::make_shared<store::ThreadUpdate>();
  for (const Tree& message : creation.messages.items()) {
    thread->messages.push_back(entry_of(message, store::MessageRule::add, now));
  }
}

// Of a conversation that the client sends whole, what is behind its last answer is new.
void LobeOperations::Creating::store_messages(std::int64_t now) {
  thread = std::make_shared<store::ThreadUpdate>();
  auto& messages = creation.messages.items();
  const auto answer = std::find_if(messages.rbegin(), messages.rend(), [](const Tree& message) {
    return message["role"].string() == "assistant";
  });
  const auto first_new = answer.base();
  for (auto at = messages.begin(); at != messages.end(); ++at) {
    const bool is_new = at >= first_new;
    if ((*at)["id"].string().empty()) at->set("id", "msg_" + hex_id());
    thread->messages.push_back(
        entry_of(*at, is_new ? store::MessageRule::add : store::MessageRule::history, now));
  }
}

void LobeOperations::create(LobeCreation creation, Done<Created> done) {
  const auto creating = std::make_shared<Creating>();
  creating->creation = std::move(creation);
  creating->done = std::move(done);
  LobePlace& place = creating->creation.place;
  if (place.id.empty()) place.id = creating->run.text();
  if (place.thread.empty()) place.thread = "topic_" + place.id;
  context_->with_store<bool>(
      [creating](store::StorageBackend& backend) {
        creating->prepare(backend);
        return true;
      },
      [self = shared_from_this(), creating](bool) {
        if (creating->refusal) return creating->done(*creating->refusal);
        const bool has_pipelines = self->context_->has_pipelines && *self->context_->has_pipelines;
        if (has_pipelines && creating->may_hook()) return self->run_hooks(creating);
        self->begin(creating);
      });
}

void LobeOperations::run_hooks(const std::shared_ptr<Creating>& creating) {
  const LobeCreation& creation = creating->creation;
  TurnRequest& turn = creating->turn;
  turn.principal = creation.place.principal;
  turn.conversation = creation.place.thread;
  turn.message.text = creation.messages.items().back()["content"].string();
  context_->ask("pipeline", hook_request(turn, creating->run.text(), Tree::array()),
                [self = shared_from_this(), creating](const Result<Tree>& answer) {
                  auto refusal = read_hooks(answer, creating->turn, creating->outcome);
                  if (refusal) return creating->done(Created(std::move(*refusal)));
                  creating->take_hooks();
                  if (!creating->creation.is_prompt) {
                    creating->store_messages(store::system_clock()());
                  }
                  self->begin(creating);
                });
}

void LobeOperations::begin(const std::shared_ptr<Creating>& creating) {
  LobeCreation& creation = creating->creation;
  Tree body = Tree::object();
  body.set("threadId", creation.place.thread);
  body.set("runId", creation.place.id);
  if (creation.is_prompt && !creating->is_known) {
    creating->store_prompt(store::system_clock()());
  }
  for (const Tree& message : creation.messages.items()) creating->history.push(message);
  if (!creating->outcome.ran.items().empty()) {
    run::prepare_for_model(creating->history.items().back());
  }
  body.set("messages", std::move(creating->history));
  if (!creation.tools.is_null()) body.set("tools", creation.tools);
  os::RandomIds ids;
  run::InputOptions options;
  options.from_client = true;
  // Where the client gave no `operationId`, it is the run's.
  options.has_own_id = true;
  auto input = run::read_agent_input(body.to_json(), options, ids);
  if (!input) return creating->done(std::move(input).error());
  input.value().thread = creating->thread;
  input.value().body_hash = creation.body_hash;
  input.value().trace = creation.trace;
  run::StartRequest start;
  start.name = creation.agent.empty() ? context_->options.agent : creation.agent;
  // An operation is a run of an agent; others have routes and scopes of their own.
  const auto kind = context_->runs->kind_of(start.name);
  const bool is_reserved = start.name.starts_with(own_threads) || kind == run::RunKind::job;
  // The agent that is configured may be registered later; one that a client names is not there.
  const bool is_missing = !kind && !creation.agent.empty() && !creating->is_known;
  if (is_reserved || is_missing) {
    const Error error = unknown_agent(*context_, start.name);
    return creating->done(Created(TurnRefusal{404, error.message, std::string(error.code_name())}));
  }
  if (creation.context.is_object()) start.context_json = creation.context.to_json();
  if (creating->outcome.reply) {
    Tree answer = Tree::object();
    answer.set("reply", *creating->outcome.reply);
    start.name = pipeline_agent;
    start.context_json = answer.to_json();
  }
  start.input = std::move(input).value();
  start.principal = creation.place.principal;
  start.id = creating->run;
  start.is_held = !creation.starts;
  if (!creation.hooks.items().empty()) {
    start.outbox.push_back(lobe_hooks_row(creating->run, creation.hooks, creation.trace));
  }
  start.idem_key = creation.idem_key;
  if (!start.idem_key.empty()) start.idem_hash = creation.body_hash;
  context_->requests->open(std::move(start), [context = context_, hooks = hooks_,
                                              creating](const Result<run::FoundRun>& found) {
    if (!found) return creating->done(found.error());
    // A request that came again has the operation of the first one.
    const LobeCreation& first = creating->creation;
    if (!first.hooks.items().empty()) hooks->look();
    const store::RunId run = found.value().run;
    const auto give = [creating, run] {
      const LobeCreation& made = creating->creation;
      creating->done(Created(made.is_named ? made.place.id : run.text()));
    };
    if (run != creating->run) return give();
    name_after(context, first.place.principal, first.place.thread, creating->question(), give);
  });
}

}  // namespace millrace::api
