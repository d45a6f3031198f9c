#include "api/turn.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "agent/state_messages.hpp"
#include "api/attachment_routes.hpp"
#include "base/sha256.hpp"
#include "chat/ids.hpp"
#include "os/random_ids.hpp"
#include "run/durable/run_registry.hpp"
#include "run/stored_members.hpp"

namespace millrace::api {
namespace {

using json::Tree;

constexpr std::string_view still_busy = "Chat job is still running";
constexpr std::string_view other_request = "Another request has the Idempotency-Key";
// How far back the message is looked for that is answered again.
constexpr std::size_t most_looked_back = 20;

// The last message with a text that a model sees, if the user wrote it.
const chat::HistoryRecord* last_question(const std::vector<chat::HistoryRecord>& records) {
  const std::size_t begin =
      records.size() > most_looked_back ? records.size() - most_looked_back : 0;
  for (std::size_t at = records.size(); at > begin; --at) {
    const chat::HistoryRecord& record = records[at - 1];
    if (record.is_display_only || record.item["content"].string().empty()) continue;
    return record.is_user ? &record : nullptr;
  }
  return nullptr;
}

}  // namespace

void Turns::Turn::prepare(store::StorageBackend& backend) {
  history = Tree::array();
  message = Tree();
  changes = {};
  attached.clear();
  attachments = Tree::array();
  if (!take_media(backend.now())) return;
  if (request.conversation.empty()) request.conversation = chat::default_conversation;
  const bool is_default = request.conversation == chat::default_conversation;
  auto found = load_conversation(backend, request.principal, request.conversation);
  if (!found) return reject(500, found.error().message);
  if (!found.value() && !is_default) return reject(404, no_conversation);
  seen = {};
  seen.is_there = found.value().has_value();
  if (found.value()) seen.changes = found.value()->row.changes;
  if (!take_attachments(backend)) return;
  auto active = active_runs(backend, request.principal, request.conversation);
  if (!active) return reject(500, active.error().message);
  if (is_repeated(backend)) return;
  if (finds_damaged(backend, active.value())) return;
  const bool is_busy = !active.value().empty();
  if (is_busy && !take_busy(active.value())) {
    if (joins) message = new_message(message_id(), *joins, backend.now());
    return;
  }
  if (read_messages(backend)) read_input();
  // The runs that it waits for write messages.
  if (is_busy) seen.changes.reset();
}

// What the model reads.
bool Turns::Turn::read_messages(store::StorageBackend& backend) {
  if (!read_history(backend)) return false;
  if (!request.reuses_previous) {
    message = new_message("msg_" + hex_id(), run, backend.now());
    Tree read = message;
    run::prepare_for_model(read);
    history.push(std::move(read));
    if (!attachments.items().empty()) attached.push_back({history.items().size() - 1, attachments});
  }
  add_content();
  return true;
}

void Turns::Turn::read_input() {
  Tree body = Tree::object();
  body.set("threadId", request.conversation);
  body.set("runId", run.text().substr(4));
  body.set("messages", std::exchange(history, Tree::array()));
  os::RandomIds ids;
  auto read = run::read_agent_input(body.to_json(), {}, ids);
  if (!read) return reject(400, read.error().message);
  input = std::move(read).value();
  input.thread = std::make_shared<const store::ThreadUpdate>(thread_update());
  input.trace = request.trace;
  auto state_messages = agent::state_messages_of(input.messages_json);
  if (!state_messages) return reject(400, state_messages.error().message);
  input.state_messages = std::move(state_messages).value();
}

store::ThreadUpdate Turns::Turn::thread_update() const {
  store::ThreadUpdate update = changes;
  if (!message.is_object()) return update;
  const std::string id(message["id"].string());
  std::erase_if(update.messages, [&](const store::ThreadEntry& entry) { return entry.id == id; });
  const auto rule = request.reuses_previous ? store::MessageRule::put : store::MessageRule::add;
  update.messages.push_back({id, message.to_json(json::Surrogates::keep), rule});
  return update;
}

// The message as the conversation has it.
Tree Turns::Turn::new_message(const std::string& id, const store::RunId& of,
                              std::int64_t now) const {
  Tree row = Tree::object();
  row.set("id", id);
  row.set("role", "user");
  row.set("content", request.message.stored_text());
  row.set("createdAt", Tree::integer(now));
  row.set("run", of.text());
  const std::array<std::pair<std::string_view, const Tree*>, 4> lists{{
      {"notes", &hooks.notes},
      {"pipelines", &hooks.ran},
      {"attachments", &attachments},
      {"references", &request.message.references},
  }};
  for (const auto& [name, list] : lists) {
    if (!list->items().empty()) row.set(name, *list);
  }
  return row;
}

// A function reads its attachments itself; for a model they are read with each request.
void Turns::Turn::add_content() {
  if (!takes_content) return;
  for (const AttachedMessage& one : attached) {
    history.items()[one.place].set("attachments", one.attachments);
  }
}

// The ids of messages of this key begin so.
std::string Turns::Turn::key_prefix() const {
  constexpr std::size_t digits = 22;
  return "msg_" + sha256_hex(request.principal + "\n" + request.idem_key).substr(0, digits);
}

// The id of a message to a run at work: a request that comes again brings the same one, and another
// request with its key one that begins like it.
std::string Turns::Turn::message_id() const {
  if (request.idem_key.empty()) return "msg_" + hex_id();
  constexpr std::size_t digits = 10;
  return key_prefix() + sha256_hex(request.idem_hash).substr(0, digits);
}

// Whether a run has the message of this request already; `known` is that run.
bool Turns::Turn::is_repeated(store::StorageBackend& backend) {
  const bool may_join = request.on_busy == OnBusy::interrupt || request.on_busy == OnBusy::steer;
  if (request.idem_key.empty()) return false;
  if (is_known(backend)) return true;
  if (!may_join) return false;
  const std::string id = message_id();
  auto rows = backend.messages(request.principal, request.conversation);
  if (!rows) return false;
  for (const store::MessageRow& row : rows.value()) {
    if (!row.id.starts_with(key_prefix())) continue;
    auto sent = Tree::parse(row.json);
    if (!sent || row.id != id) {
      reject(409, other_request);
      return true;
    }
    known = store::RunId::parse(sent.value()["run"].string());
    return known.has_value();
  }
  return false;
}

void Turns::Turn::look_among(const std::vector<std::string>& ids, const store::RunId& of) {
  const std::string prefix = key_prefix();
  const auto found = std::find_if(ids.begin(), ids.end(),
                                  [&](const std::string& id) { return id.starts_with(prefix); });
  if (found == ids.end()) return;
  if (*found != message_id()) return reject(409, other_request);
  known = of;
}

// Whether a run began with this key. Neither do hooks run for it again, nor does a run at work get
// its message.
bool Turns::Turn::is_known(store::StorageBackend& backend) {
  auto run = backend.run_with_key(request.principal, request.idem_key);
  if (!run || !run.value()) return false;
  if (run.value()->run.idem_hash == request.idem_hash) {
    known = run.value()->run.id;
  } else {
    reject(409, other_request);
  }
  return true;
}

// One that is parked for what it has in the store would be in the way for ever, and so would one
// that waits for an answer that it cannot take.
bool Turns::Turn::finds_damaged(store::StorageBackend& backend,
                                const std::vector<store::RunRow>& active) {
  const auto found = std::find_if(active.begin(), active.end(), [&](const store::RunRow& row) {
    const bool waits = row.state == journal::RunState::waiting;
    return is_damaged(row) || (waits && !readable->holds(backend, row));
  });
  if (found == active.end()) return false;
  // It does not end.
  if (ended_damaged == found->run.id) {
    reject(409, still_busy);
  } else {
    damaged = found->run.id;
  }
  return true;
}

// False where the turn ends here, or is for a run at work.
bool Turns::Turn::take_busy(const std::vector<store::RunRow>& active) {
  if (request.on_busy == OnBusy::reject) {
    reject(409, still_busy);
    return false;
  }
  waits = true;
  if (request.reuses_previous) {
    reject(409, still_busy);
    return false;
  }
  if (request.on_busy == OnBusy::queue) return true;
  const auto in_state = [&](journal::RunState state) {
    return std::find_if(active.begin(), active.end(),
                        [state](const store::RunRow& row) { return row.state == state; });
  };
  const auto at_work = in_state(journal::RunState::running);
  const auto waiting = in_state(journal::RunState::waiting);
  const auto busy = at_work == active.end() ? waiting : at_work;
  const auto parked = in_state(journal::RunState::parked);
  if (busy == active.end() && parked != active.end() && request.on_busy == OnBusy::interrupt) {
    ends = parked->run.id;
    return false;
  }
  if (busy == active.end()) return true;
  // An interrupt ends a run that waits for the user: the message takes the place of the decision.
  const bool leaves = busy == waiting && request.on_busy == OnBusy::interrupt;
  // An answer that is known is a run of its own, behind the one at work.
  if (!leaves && hooks.reply) return true;
  (leaves ? ends : joins) = busy->run.id;
  joins_agent = busy->run.kind == run::name_of(run::RunKind::agent);
  return false;
}

// Once: the text has what stands for them from then on.
bool Turns::Turn::take_media(std::int64_t now) {
  if (std::exchange(has_media_read, true)) return true;
  auto taken = take_inline_media(request.message.text, {request.principal, now}, most_media_bytes);
  if (!taken) {
    const Error& error = taken.error();
    refusal =
        TurnRefusal{row_of(error.code).http_status, error.message, std::string(error.code_name())};
    return false;
  }
  request.message.text = std::move(taken.value().text);
  // Those of a message that is answered again are there, but for those of its new text.
  if (request.reuses_previous) {
    media = std::move(request.other_media);
    return true;
  }
  media = std::move(taken.value().media);
  return true;
}

bool Turns::Turn::take_attachments(store::StorageBackend& backend) {
  for (const std::string& id : request.message.attachment_ids) {
    auto row = backend.attachment(request.principal, id);
    if (!row || !row.value()) {
      reject(404, "Attachment not found");
      return false;
    }
    attachments.push(attachment_reference(*row.value()));
  }
  for (const InlineMedium& medium : media) attachments.push(attachment_reference(medium.row));
  return true;
}

bool Turns::Turn::read_history(store::StorageBackend& backend) {
  auto rows = backend.messages(request.principal, request.conversation);
  if (!rows) {
    reject(500, rows.error().message);
    return false;
  }
  if (!request.answers_again.empty() && !cut_rows(rows.value())) return false;
  std::string question;  // the id of the message that is answered again
  if (request.reuses_previous) {
    const auto records = records_of(rows.value());
    const chat::HistoryRecord* last = last_question(records);
    const std::string_view text = last == nullptr ? "" : last->item["content"].string();
    const std::string& wanted = hooks.stored ? *hooks.stored : request.message.text;
    if (last == nullptr || json::trim(text) != json::trim(wanted)) {
      reject(400, "reuse_previous_user_message requires a matching last user message");
      return false;
    }
    question = last->item["message_id"].string();
  }
  for (const store::MessageRow& row : rows.value()) {
    auto stored = Tree::parse(row.json);
    if (!stored || stored.value()["displayOnly"].is_true()) continue;
    const bool is_of_user = stored.value()["role"].string() == "user";
    if (const Tree& files = stored.value()["attachments"]; is_of_user && !files.items().empty()) {
      attached.push_back({history.items().size(), files});
    }
    const bool is_question = !question.empty() && chat::message_id_of(row.id) == question;
    if (is_question && !take_hooked(stored.value())) return false;
    run::prepare_for_model(stored.value());
    history.push(std::move(stored).value());
  }
  return true;
}

// The conversation as it will be once the run has begun. False where the message is gone by now.
bool Turns::Turn::cut_rows(MessageRows& rows) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const store::MessageRow& row) {
    return row.id == request.answers_again;
  });
  if (found == rows.end()) {
    reject(404, "Message not found");
    return false;
  }
  const auto question = static_cast<std::size_t>(std::distance(rows.begin(), found));
  changes = cut_behind(rows, question, {request.other_text, attachments});
  return true;
}

// A message that is answered again is stored as its hooks left it. One that was edited since gets
// what they make of its text now. False where that is nothing.
bool Turns::Turn::take_hooked(Tree& question) {
  const bool is_new = question["edited"].is_true() && !question["pipelines"].is_array();
  if (!is_hooked || !is_new || !question["content"].is_string()) return true;
  if (hooks.text) {
    if (hooks.text->empty()) {
      reject(400, "message is required");
      return false;
    }
    if (!hooks.stored) hooks.stored = request.message.text;
    request.message.text = *hooks.text;
    question.set("content", *hooks.text);
  }
  question.erase("notes");
  if (!hooks.notes.items().empty()) question.set("notes", hooks.notes);
  question.set("pipelines", hooks.ran);
  message = question;
  return true;
}

}  // namespace millrace::api
