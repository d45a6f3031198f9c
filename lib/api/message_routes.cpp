#include "api/message_routes.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <utility>

#include "api/api_answers.hpp"
#include "api/attachment_routes.hpp"
#include "api/conversations.hpp"
#include "api/inline_media.hpp"
#include "api/jobs.hpp"
#include "api/stored_messages.hpp"
#include "base/sha256.hpp"
#include "chat/ids.hpp"
#include "chat/references.hpp"

namespace millrace::api {
namespace {

using json::Tree;
using Rows = MessageRows;

// /api/v1/chat/conversations/<id>/messages/<id>
constexpr std::size_t thread_place = 4;
constexpr std::size_t message_place = 6;
constexpr std::string_view no_thread = "Conversation not found";
constexpr std::string_view no_message = "Message not found";
constexpr std::string_view thread_busy = "Chat job is still running";

// What became of a request: the answer, or why there is none.
struct MessageOutcome {
  int status = 200;
  Tree body;
  std::string refusal;                // "" is none
  std::string question;               // the message that is answered again
  std::optional<store::RunId> known;  // a request that comes again began this run
  std::string code;                   // of the error that is the refusal; "" is not shown
  TakenMedia given;                   // text of the message then
};

MessageOutcome outcome_of(int status) {
  return {status, Tree::object(), {}, {}, {}, {}, {}};
}

MessageOutcome no_outcome(int status, std::string_view why) {
  return {status, {}, std::string(why), {}, {}, {}, {}};
}

MessageOutcome failed(const Error& error) {
  return no_outcome(row_of(error.code).http_status, error.message);
}

// Of what the request has.
MessageOutcome rejected(const Error& error) {
  MessageOutcome outcome = failed(error);
  outcome.code = error.code_name();
  return outcome;
}

struct MessagePlace {
  std::string principal;
  std::string thread;
  std::string message;
};

std::optional<MessageSpan> span_of(const Rows& rows, std::string_view message) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const store::MessageRow& row) {
    return chat::message_id_of(row.id) == message;
  });
  if (found == rows.end()) return std::nullopt;
  const auto at = static_cast<std::size_t>(std::distance(rows.begin(), found));
  MessageSpan span{at, at + 1};
  if (is_question(*found)) return span;
  while (span.begin > 0 && !is_question(rows[span.begin - 1])) --span.begin;
  while (span.end < rows.size() && !is_question(rows[span.end])) ++span.end;
  return span;
}

// The messages of a conversation and where one of them is.
struct Found {
  Rows rows;
  MessageSpan span;
};

// Gives the refusal where there is none.
std::variant<Found, MessageOutcome> find_message(store::StorageBackend& backend,
                                                 const MessagePlace& place, bool is_changed) {
  auto thread = backend.thread(place.principal, place.thread);
  if (!thread) return failed(thread.error());
  if (!thread.value()) return no_outcome(404, no_thread);
  auto rows = backend.messages(place.principal, place.thread);
  if (!rows) return failed(rows.error());
  const auto span = span_of(rows.value(), place.message);
  if (!span) return no_outcome(404, no_message);
  if (is_changed) {
    auto active = busy_runs(backend, place.principal, place.thread);
    if (!active) return failed(active.error());
    if (!active.value().empty()) return no_outcome(409, thread_busy);
  }
  return Found{std::move(rows).value(), *span};
}

MessageOutcome item_of(const Rows& rows, const MessageSpan& span, const ApiOptions& options) {
  const Rows part(rows.begin() + static_cast<std::ptrdiff_t>(span.begin),
                  rows.begin() + static_cast<std::ptrdiff_t>(span.end));
  const auto records = records_of(part);
  if (records.empty()) return no_outcome(404, no_message);
  MessageOutcome outcome = outcome_of(200);
  outcome.body.set("message", record_json(records.front(), options));
  return outcome;
}

MessageOutcome edit_message(store::StorageBackend& backend, const MessagePlace& place,
                            std::string_view text, const ApiOptions& options) {
  auto found = find_message(backend, place, true);
  if (auto* refusal = std::get_if<MessageOutcome>(&found)) return std::move(*refusal);
  auto given = take_inline_media(text, {place.principal, backend.now()}, options.attachment_bytes);
  if (!given) return rejected(given.error());
  const auto& media = given.value().media;
  if (auto stored = put_media(backend, media); !stored) return failed(stored.error());
  auto& [rows, span] = std::get<Found>(found);
  put_text(rows, span, {given.value().text, references_of(media)});
  auto put = backend.set_messages(place.principal, place.thread, rows);
  return put ? item_of(rows, span, options) : failed(put.error());
}

MessageOutcome remove_message(store::StorageBackend& backend, const MessagePlace& place,
                              bool with_following) {
  auto found = find_message(backend, place, true);
  if (auto* refusal = std::get_if<MessageOutcome>(&found)) return std::move(*refusal);
  auto& [rows, span] = std::get<Found>(found);
  if (with_following) span.end = rows.size();
  const RunNames runs = runs_of(rows, span, "assistant");
  rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(span.begin),
             rows.begin() + static_cast<std::ptrdiff_t>(span.end));
  leave_runs(rows, span.begin, runs);
  if (auto put = backend.set_messages(place.principal, place.thread, rows); !put) {
    return failed(put.error());
  }
  MessageOutcome outcome = outcome_of(200);
  outcome.body.set("success", Tree::flag(true));
  outcome.body.set("conversation_id", place.thread);
  return outcome;
}

// Another conversation that begins as this one, up to the message.
MessageOutcome branch(store::StorageBackend& backend, const MessagePlace& place,
                      const std::string& given, const ApiOptions& options) {
  auto found = find_message(backend, place, false);
  if (auto* refusal = std::get_if<MessageOutcome>(&found)) return std::move(*refusal);
  auto& [rows, span] = std::get<Found>(found);
  auto active = active_runs(backend, place.principal, place.thread);
  if (!active) return failed(active.error());
  RunNames at_work;
  for (const store::RunRow& row : active.value()) at_work.insert(row.run.id.text());
  branch_off(rows, span.end, std::move(at_work));
  auto old = load_conversation(backend, place.principal, place.thread);
  if (!old) return failed(old.error());
  const std::string title(given.empty() && old.value() ? old.value()->titled["title"].string()
                                                       : given);
  Conversation made = make_conversation(place.principal, ordered_hex_id(), title, backend.now());
  if (auto saved = save_conversation(backend, made); !saved) return failed(saved.error());
  if (auto put = backend.set_messages(place.principal, made.row.id, rows); !put) {
    return failed(put.error());
  }
  MessageOutcome outcome = outcome_of(201);
  Tree& json = outcome.body.set("conversation", conversation_json(made, options));
  Tree& messages = json.set("messages", Tree::array());
  for (const chat::HistoryRecord& record : records_of(rows)) {
    messages.push(record_json(record, options));
  }
  return outcome;
}

// A request to answer again, which is known by its key when it comes once more.
struct AgainRequest {
  std::string text;  // of the question then; "" leaves it
  std::uint64_t most_media_bytes = 0;
  std::string idem_key;
  std::string idem_hash;
};

// The run that the key began in this conversation, if there is one; a refusal where the key is
// another request's.
std::optional<MessageOutcome> repeated(store::StorageBackend& backend, const MessagePlace& place,
                                       const AgainRequest& again) {
  if (again.idem_key.empty()) return std::nullopt;
  store::RunQuery query;
  query.principal = place.principal;
  query.thread = place.thread;
  do {
    auto page = backend.runs(query);
    if (!page) return failed(page.error());
    for (const store::RunRow& row : page.value().runs) {
      if (row.run.idem_key != again.idem_key) continue;
      if (row.run.idem_hash != again.idem_hash) {
        return no_outcome(409, "Another request has the Idempotency-Key");
      }
      MessageOutcome outcome = outcome_of(202);
      outcome.known = row.run.id;
      return outcome;
    }
    query.before = page.value().next;
  } while (!query.before.empty());
  return std::nullopt;
}

// Finds the question. The body is the request for a turn that answers it again: the conversation
// stays as it is until that turn begins.
MessageOutcome find_question(store::StorageBackend& backend, const MessagePlace& place,
                             const AgainRequest& again) {
  if (auto known = repeated(backend, place, again)) return std::move(*known);
  auto found = find_message(backend, place, true);
  if (auto* refusal = std::get_if<MessageOutcome>(&found)) return std::move(*refusal);
  auto& [rows, span] = std::get<Found>(found);
  std::size_t question = span.begin;
  if (!is_question(rows[question])) {
    if (question == 0) return no_outcome(400, "No question comes before the message");
    --question;
  }
  auto given =
      take_inline_media(again.text, {place.principal, backend.now()}, again.most_media_bytes);
  if (!given) return rejected(given.error());
  static_cast<void>(cut_behind(rows, question, {given.value().text, Tree()}));
  const auto records = records_of({rows.back()});
  if (records.empty()) return no_outcome(404, no_message);
  MessageOutcome outcome = outcome_of(202);
  outcome.body.set("message", records.front().item["content"]);
  outcome.body.set("conversation_id", place.thread);
  outcome.body.set("reuse_previous_user_message", Tree::flag(true));
  outcome.question = rows.back().id;
  outcome.given = std::move(given).value();
  return outcome;
}

struct MessageService {
  ApiContextPtr context;
  JobsPtr jobs;
  TurnsPtr turns;

  [[nodiscard]] MessagePlace place_of(const http::Request& request) const {
    return {principal_of(request, *context), request.path_segment(thread_place),
            request.path_segment(message_place)};
  }
  using Work = std::function<MessageOutcome(store::StorageBackend&)>;
  static std::function<void(MessageOutcome)> sender(const ResponsePtr& response) {
    return [response](const MessageOutcome& outcome) {
      if (outcome.refusal.empty()) return send_json(response, outcome.status, outcome.body);
      send_refusal(response, {outcome.status, outcome.refusal, outcome.code});
    };
  }
  void answer(const ResponsePtr& response, Work work) const {
    context->with_store<MessageOutcome>(std::move(work), sender(response));
  }
  // With work that changes nothing.
  void show(const ResponsePtr& response, Work work) const {
    context->read_store<MessageOutcome>(std::move(work), sender(response));
  }

  void on_read(const http::Request& request, const ResponsePtr& response) const;
  void on_edit(const http::Request& request, const ResponsePtr& response) const;
  void on_remove(const http::Request& request, const ResponsePtr& response) const;
  void on_branch(const http::Request& request, const ResponsePtr& response) const;
  void on_again(const http::Request& request, const ResponsePtr& response) const;
  void answer_again(const std::string& principal, const AgainRequest& again,
                    const MessageOutcome& outcome, const ResponsePtr& response) const;
};

void send_job(const ResponsePtr& response, const JobPtr& job) {
  if (!job) return send_refusal(response, 404, "Job not found");
  send_json(response, 202, job->log().snapshot(store::system_clock()()));
}

void MessageService::on_read(const http::Request& request, const ResponsePtr& response) const {
  show(response, [place = place_of(request), context = context](store::StorageBackend& backend) {
    auto found = find_message(backend, place, false);
    if (auto* refusal = std::get_if<MessageOutcome>(&found)) return std::move(*refusal);
    const Found& message = std::get<Found>(found);
    return item_of(message.rows, message.span, context->options);
  });
}

void MessageService::on_edit(const http::Request& request, const ResponsePtr& response) const {
  const auto body = turn_in(request, response);
  if (!body) return;
  const std::string text(json::trim((*body)["text"].string()));
  if (text.empty()) return send_refusal(response, 400, "text is required");
  answer(response,
         [place = place_of(request), text, context = context](store::StorageBackend& backend) {
           return edit_message(backend, place, text, context->options);
         });
}

void MessageService::on_remove(const http::Request& request, const ResponsePtr& response) const {
  const bool with_following =
      chat::is_loosely_true(Tree::text(request.query_value("following").value_or("")));
  answer(response, [place = place_of(request), with_following](store::StorageBackend& backend) {
    return remove_message(backend, place, with_following);
  });
}

// The text of a member in a body that may be missing, as may be the member: "" then. What else is
// there is answered with 400, before anything is changed.
std::optional<std::string> optional_text(const http::Request& request, const ResponsePtr& response,
                                         std::string_view name) {
  if (json::trim(request.body).empty()) return std::string();
  const auto body = turn_in(request, response);
  if (!body) return std::nullopt;
  const Tree& member = (*body)[name];
  if (member.is_null()) return std::string();
  std::string text(json::trim(member.string()));
  if (!text.empty()) return text;
  send_refusal(response, 400, std::string(name) + " must be a text that is not empty");
  return std::nullopt;
}

void MessageService::on_branch(const http::Request& request, const ResponsePtr& response) const {
  const auto title = optional_text(request, response, "title");
  if (!title) return;
  answer(response, [place = place_of(request), title = *title,
                    context = context](store::StorageBackend& backend) {
    return branch(backend, place, title, context->options);
  });
}

void MessageService::on_again(const http::Request& request, const ResponsePtr& response) const {
  const auto text = optional_text(request, response, "text");
  if (!text) return;
  AgainRequest again{*text,
                     context->options.attachment_bytes,
                     std::string(request.headers.find("Idempotency-Key").value_or("")),
                     {}};
  if (!again.idem_key.empty()) again.idem_hash = sha256_hex(request.path + "\n" + request.body);
  context->read_store<MessageOutcome>(
      [place = place_of(request), again](store::StorageBackend& backend) {
        return find_question(backend, place, again);
      },
      [service = *this, again, principal = place_of(request).principal,
       response](const MessageOutcome& outcome) {
        if (!outcome.refusal.empty()) {
          return send_refusal(response, {outcome.status, outcome.refusal, outcome.code});
        }
        if (!outcome.known) return service.answer_again(principal, again, outcome, response);
        service.jobs->find(job_id(*outcome.known), principal,
                           [response](const JobPtr& job) { send_job(response, job); });
      });
}

void MessageService::answer_again(const std::string& principal, const AgainRequest& again,
                                  const MessageOutcome& outcome,
                                  const ResponsePtr& response) const {
  auto turn = read_turn(outcome.body, principal);
  if (const auto* refusal = std::get_if<TurnRefusal>(&turn)) {
    return send_refusal(response, *refusal);
  }
  TurnRequest& wanted = std::get<TurnRequest>(turn);
  wanted.idem_key = again.idem_key;
  wanted.idem_hash = again.idem_hash;
  wanted.answers_again = outcome.question;
  wanted.other_text = outcome.given.text;
  wanted.other_media = outcome.given.media;
  turns->begin(std::move(wanted), [response](const std::variant<JobPtr, TurnRefusal>& begun) {
    const auto* refusal = std::get_if<TurnRefusal>(&begun);
    if (refusal != nullptr) return send_refusal(response, *refusal);
    send_job(response, std::get<JobPtr>(begun));
  });
}

}  // namespace

std::vector<ApiRoute> message_routes(const ApiContextPtr& context, const JobsPtr& jobs,
                                     const TurnsPtr& turns) {
  const auto service = std::make_shared<MessageService>(MessageService{context, jobs, turns});
  const auto handler =
      [service](void (MessageService::*handle)(const http::Request&, const ResponsePtr&) const) {
        return [service, handle](http::Request&& request, const ResponsePtr& response) {
          (*service.*handle)(request, response);
        };
      };
  constexpr std::string_view path =
      "/api/v1/chat/conversations/{conversation_id}/messages/{message_id}";
  return {
      {"GET", path, "read", "One message.", handler(&MessageService::on_read), "", "MessageAnswer"},
      {"PATCH", path, "chat", "Changes the text of a message.", handler(&MessageService::on_edit),
       "MessageEdit", "MessageAnswer"},
      {"DELETE", path, "chat", "Removes a message, with what follows where `following` is true.",
       handler(&MessageService::on_remove), "", "Removed", 200, 0, "following:boolean"},
      {"POST", "/api/v1/chat/conversations/{conversation_id}/messages/{message_id}/branch", "chat",
       "Begins another conversation with the messages up to this one.",
       handler(&MessageService::on_branch), "ConversationRequest", "ConversationAnswer", 201},
      {"POST", "/api/v1/chat/conversations/{conversation_id}/messages/{message_id}/regenerate",
       "chat", "Answers a question again, with another text where one is given.",
       handler(&MessageService::on_again), "MessageEdit", "Job", 202},
  };
}

}  // namespace millrace::api
