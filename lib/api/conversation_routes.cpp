#include "api/conversation_routes.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "api/api_answers.hpp"
#include "api/conversations.hpp"
#include "chat/ids.hpp"
#include "chat/titles.hpp"
#include "run/durable/chat_storage.hpp"

namespace millrace::api {
namespace {

using json::Tree;

constexpr std::size_t conversation_place = 4;  // /api/v1/chat/conversations/<id>
constexpr std::string_view missing = "Conversation not found";
constexpr std::string_view running = "Chat job is still running";
constexpr std::size_t page_size = 200;
constexpr std::size_t slice_size = 20;  // conversations, before others have a turn at the store

// What became of a change: the answer, or why there is none.
struct Outcome {
  int status = 200;
  Tree body;
  std::string refusal;  // "" is none
};

Outcome rejected(int status, std::string_view why) {
  return {status, {}, std::string(why)};
}

Outcome rejected(const Error& error) {
  return {row_of(error.code).http_status, {}, error.message};
}

void send(const ResponsePtr& response, const Outcome& outcome) {
  if (outcome.refusal.empty()) return send_json(response, outcome.status, outcome.body);
  send_refusal(response, outcome.status, outcome.refusal);
}

// The conversation with all its messages.
Outcome whole(store::StorageBackend& backend, const Conversation& conversation,
              const ApiOptions& options, int status) {
  auto rows = backend.messages(conversation.row.principal, conversation.row.id);
  if (!rows) return rejected(rows.error());
  Outcome outcome{status, Tree::object(), {}};
  Tree json = conversation_json(conversation, options);
  Tree& messages = json.set("messages", Tree::array());
  for (const chat::HistoryRecord& record : records_of(rows.value())) {
    messages.push(record_json(record, options));
  }
  outcome.body.set("conversation", std::move(json));
  return outcome;
}

Outcome put_title(store::StorageBackend& backend, const std::string& principal,
                  const std::string& id, const Tree& body, const ApiOptions& options) {
  auto found = load_conversation(backend, principal, id);
  if (!found) return rejected(found.error());
  const std::int64_t now = backend.now();
  if (!found.value()) {
    if (id != chat::default_conversation) return rejected(404, missing);
    found.value() = make_conversation(principal, id, {}, now);
  }
  Conversation& conversation = *found.value();
  if (!chat::set_title(conversation.titled, body["title"].string(), now)) {
    return rejected(400, "title is required");
  }
  conversation.row.updated = now;
  if (auto saved = save_conversation(backend, conversation); !saved) return rejected(saved.error());
  return whole(backend, conversation, options, 200);
}

Outcome delete_conversation(store::StorageBackend& backend, const std::string& principal,
                            const std::string& id) {
  auto found = backend.thread(principal, id);
  if (!found) return rejected(found.error());
  if (!found.value()) return rejected(404, missing);
  auto active = busy_runs(backend, principal, id);
  if (!active) return rejected(active.error());
  if (!active.value().empty()) return rejected(409, running);
  if (auto gone = backend.delete_thread(principal, id); !gone) return rejected(gone.error());
  Outcome outcome{200, Tree::object(), {}};
  outcome.body.set("success", Tree::flag(true));
  outcome.body.set("conversation_id", id);
  return outcome;
}

// A list on its way. Other work of the store comes between its slices.
struct Listing {
  std::string principal;
  std::string cursor;
  std::size_t limit = page_size;
  ResponsePtr response;
  // Jobs that are not over: those of the listed conversations, and the newest of all.
  std::vector<store::RunId> active;
  std::optional<store::RunRow> newest;
  Tree items = Tree::array();
  // By the items: runs of which the conversation has no answer.
  std::vector<std::vector<std::string>> unanswered;
  bool is_over = false;
};

// Counts messages of an item that are not in its thread.
void add_messages(Tree& item, std::size_t more) {
  const std::int64_t count = item["message_count"].integer_or(0);
  item.set("message_count", Tree::integer(count + static_cast<std::int64_t>(more)));
}

// Conversations of the next slice, with how many messages each has and whether a job works in it.
Result<void> list_on(store::StorageBackend& backend, const ApiOptions& options, Listing& listing) {
  if (listing.items.items().empty()) {
    auto newest = newest_active(backend, listing.principal);
    if (!newest) return newest.error();
    listing.newest = std::move(newest).value();
  }
  const std::size_t most = std::min(slice_size, listing.limit - listing.items.items().size());
  auto threads = run::front::thread_page(backend, listing.principal, listing.cursor, most);
  if (!threads) return threads.error();
  for (const store::ThreadRow& row : threads.value().threads) {
    auto found = load_conversation(backend, listing.principal, row.id);
    auto turns = backend.count_turns(listing.principal, row.id);
    auto active = active_runs(backend, listing.principal, row.id);
    if (!active) return active.error();
    if (!found || !turns) return found ? turns.error() : found.error();
    if (!found.value()) continue;
    Tree item = conversation_json(*found.value(), options);
    item.erase("virtual_user_name");
    item.set("message_count", Tree::integer(static_cast<std::int64_t>(turns.value().turns)));
    listing.unanswered.push_back(std::move(turns.value().unanswered));
    const auto& runs = active.value();
    item.set("is_running", Tree::flag(!std::all_of(runs.begin(), runs.end(), is_damaged)));
    for (const store::RunRow& run : runs) {
      if (!listing.newest || run.run.id != listing.newest->run.id) {
        listing.active.push_back(run.run.id);
      }
    }
    listing.items.push(std::move(item));
  }
  listing.cursor = threads.value().next;
  listing.is_over = listing.cursor.empty() || listing.items.items().size() >= listing.limit;
  return {};
}

struct ConversationService {
  ApiContextPtr context;
  JobsPtr jobs;
  SilentRunsPtr silent;

  // Answers with what `work` gives on the store's thread.
  void change(const ResponsePtr& response,
              std::function<Outcome(store::StorageBackend&)> work) const {
    context->with_store<Outcome>(std::move(work),
                                 [response](const Outcome& outcome) { send(response, outcome); });
  }

  // The same with work that changes nothing.
  void show(const ResponsePtr& response,
            std::function<Outcome(store::StorageBackend&)> work) const {
    context->read_store<Outcome>(std::move(work),
                                 [response](const Outcome& outcome) { send(response, outcome); });
  }

  void on_list(const http::Request& request, const ResponsePtr& response) const;
  void go_on(const std::shared_ptr<Listing>& listing) const;
  void count_silent(const std::shared_ptr<Listing>& listing) const;
  void end(const std::shared_ptr<Listing>& listing) const;
  void on_read(const http::Request& request, const ResponsePtr& response) const;
  void on_create(const http::Request& request, const ResponsePtr& response) const;
  void on_rename(const http::Request& request, const ResponsePtr& response) const;
  void on_remove(const http::Request& request, const ResponsePtr& response) const;
};

void ConversationService::on_list(const http::Request& request, const ResponsePtr& response) const {
  const auto listing = std::make_shared<Listing>();
  listing->principal = principal_of(request, *context);
  listing->cursor = request.query_value("cursor").value_or("");
  listing->limit = static_cast<std::size_t>(
      std::min(number_in(request, "limit", 1).value_or(page_size), std::int64_t{page_size}));
  listing->response = response;
  go_on(listing);
}

void ConversationService::go_on(const std::shared_ptr<Listing>& listing) const {
  context->read_store<Result<void>>(
      [listing, context = context](store::StorageBackend& backend) {
        return list_on(backend, context->options, *listing);
      },
      [service = *this, listing](const Result<void>& listed) {
        if (!listed) return send_failure(listing->response, listed.error());
        // A client that left needs no answer.
        if (listing->response->is_open()) service.count_silent(listing);
      });
}

// An answer without a text counts as the history counts it.
void ConversationService::count_silent(const std::shared_ptr<Listing>& listing) const {
  std::vector<std::string> runs;
  for (auto& of_item : listing->unanswered) runs.insert(runs.end(), of_item.begin(), of_item.end());
  silent->look_at(runs, listing->principal, [service = *this, listing] {
    auto& items = listing->items.items();
    const std::size_t before = items.size() - listing->unanswered.size();
    for (std::size_t at = 0; at < listing->unanswered.size(); ++at) {
      const auto& of_item = listing->unanswered[at];
      const auto more = std::count_if(of_item.begin(), of_item.end(), [&](const std::string& run) {
        return service.silent->shows(run);
      });
      add_messages(items[before + at], static_cast<std::size_t>(more));
    }
    listing->unanswered.clear();
    listing->is_over ? service.end(listing) : service.go_on(listing);
  });
}

// What jobs at work were sent and have not taken is the end of the history.
void count_pending(Tree& items, const std::vector<JobPtr>& active) {
  std::map<std::string, std::size_t, std::less<>> pending;
  for (const JobPtr& job : active) {
    pending[job->conversation()] += job->log().sent_messages().size();
  }
  for (Tree& item : items.items()) {
    const auto found = pending.find(item["id"].string());
    if (found != pending.end()) add_messages(item, found->second);
  }
}

void ConversationService::end(const std::shared_ptr<Listing>& listing) const {
  if (listing->newest) listing->active.push_back(listing->newest->run.id);
  jobs->find_all(
      listing->active, listing->principal,
      [context = context, listing](std::vector<JobPtr> active) {
        std::erase_if(active, [](const JobPtr& job) { return job->is_over() && !job->is_cut(); });
        count_pending(listing->items, active);
        Tree body = Tree::object();
        body.set("conversations", std::move(listing->items));
        if (!listing->cursor.empty()) body.set("next_cursor", listing->cursor);
        body.set("active_job",
                 active.empty() ? Tree() : active.back()->log().snapshot(store::system_clock()()));
        body.set("default_conversation_id", chat::default_conversation);
        body.set("virtual_user_id", Tree::integer(context->options.user_id));
        send_json(listing->response, 200, body);
      });
}

void ConversationService::on_read(const http::Request& request, const ResponsePtr& response) const {
  show(response,
       [principal = principal_of(request, *context), id = request.path_segment(conversation_place),
        context = context](store::StorageBackend& backend) {
         auto found = load_conversation(backend, principal, id);
         if (!found) return rejected(found.error());
         if (!found.value()) return rejected(404, missing);
         return whole(backend, *found.value(), context->options, 200);
       });
}

// A body that cannot be read is as good as none.
void ConversationService::on_create(const http::Request& request,
                                    const ResponsePtr& response) const {
  auto parsed = Tree::parse(request.body);
  const Tree body = parsed ? std::move(parsed).value() : Tree::object();
  if (!body.is_object()) return send_refusal(response, 400, "JSON body must be an object");
  const auto made = std::make_shared<Conversation>();
  store::put_thread(
      *context->writer, context->loop,
      [made, principal = principal_of(request, *context), id = ordered_hex_id(),
       title = std::string(body["title"].string())](std::int64_t now) {
        *made = make_conversation(principal, id, title, now);
        return thread_row_of(*made);
      },
      [made, response, context = context](const Result<void>& stored) {
        if (!stored) return send_failure(response, stored.error());
        Tree answer = Tree::object();
        Tree& json = answer.set("conversation", conversation_json(*made, context->options));
        json.set("messages", Tree::array());
        send_json(response, 201, answer);
      });
}

void ConversationService::on_rename(const http::Request& request,
                                    const ResponsePtr& response) const {
  const auto body = object_in(request, response);
  if (!body) return;
  change(response, [principal = principal_of(request, *context), body = *body,
                    id = request.path_segment(conversation_place),
                    context = context](store::StorageBackend& backend) {
    return put_title(backend, principal, id, body, context->options);
  });
}

void ConversationService::on_remove(const http::Request& request,
                                    const ResponsePtr& response) const {
  change(response, [principal = principal_of(request, *context),
                    id = request.path_segment(conversation_place)](store::StorageBackend& backend) {
    return delete_conversation(backend, principal, id);
  });
}

}  // namespace

std::vector<ApiRoute> conversation_routes(const ApiContextPtr& context, const JobsPtr& jobs,
                                          const SilentRunsPtr& silent) {
  const auto service =
      std::make_shared<ConversationService>(ConversationService{context, jobs, silent});
  const auto handler = [service](void (ConversationService::*handle)(const http::Request&,
                                                                     const ResponsePtr&) const) {
    return [service, handle](http::Request&& request, const ResponsePtr& response) {
      (*service.*handle)(request, response);
    };
  };
  return {
      {"GET", "/api/v1/chat/conversations", "read", "Conversations, the last changed first.",
       handler(&ConversationService::on_list), "", "Conversations", 200, 0,
       "cursor:string limit:integer"},
      {"POST", "/api/v1/chat/conversations", "chat", "Creates a conversation.",
       handler(&ConversationService::on_create), "ConversationRequest", "ConversationAnswer", 201},
      {"GET", "/api/v1/chat/conversations/{conversation_id}", "read",
       "A conversation with its messages.", handler(&ConversationService::on_read), "",
       "ConversationAnswer"},
      {"PATCH", "/api/v1/chat/conversations/{conversation_id}", "chat", "Renames a conversation.",
       handler(&ConversationService::on_rename), "ConversationRequest", "ConversationAnswer"},
      {"DELETE", "/api/v1/chat/conversations/{conversation_id}", "chat",
       "Removes a conversation with all that belongs to it.",
       handler(&ConversationService::on_remove), "", "Removed"},
  };
}

}  // namespace millrace::api
