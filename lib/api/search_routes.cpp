#include "api/search_routes.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "api/api_answers.hpp"
#include "api/conversations.hpp"
#include "base/letter_case.hpp"
#include "chat/ids.hpp"
#include "chat/text.hpp"
#include "run/durable/chat_storage.hpp"

namespace millrace::api {
namespace {

using json::Tree;

constexpr std::size_t most_query = 200;
constexpr std::size_t usual_hits = 20;
constexpr std::int64_t most_hits = 100;
// The store commits between two slices of a search.
constexpr std::size_t slice_threads = 16;
constexpr std::size_t slice_bytes = std::size_t{1} << 20U;
// Of one request; its answer has a cursor where more is to be looked at.
constexpr std::size_t request_bytes = std::size_t{64} << 20U;

// One request: what is looked for, and how far it is.
struct Search {
  std::string principal;
  std::string query;         // folded
  std::string conversation;  // "": all of them
  std::string role;          // "": both
  std::size_t limit = usual_hits;
  // Where it goes on: behind the thread of this cursor, which may have changed or gone since, or in
  // it behind this message.
  std::string edge;
  std::string message;
  Tree hits = Tree::array();
  std::size_t bytes = 0;
  bool is_over = false;  // nothing is left
  bool is_full = false;
  ResponsePtr response;

  void put_cursor(std::string_view cursor) {
    const std::size_t slash = cursor.rfind('/');
    edge = cursor.substr(0, slash);
    if (slash != std::string_view::npos) message = cursor.substr(slash + 1);
  }
  [[nodiscard]] Tree cursor() const { return is_over ? Tree() : Tree::text(edge + "/" + message); }
  // The thread of the cursor.
  [[nodiscard]] std::string thread() const { return edge.substr(edge.find(':') + 1); }
};

// The text around the place, whole characters of it.
std::string snippet_of(std::string_view text, std::size_t at) {
  constexpr std::size_t before = 60;
  constexpr std::size_t most = 240;
  const auto is_inside = [&](std::size_t place) {
    return place < text.size() && (static_cast<unsigned char>(text[place]) & 0xC0U) == 0x80U;
  };
  std::size_t begin = at > before ? at - before : 0;
  while (begin > 0 && is_inside(begin)) --begin;
  std::size_t end = std::min(begin + most, text.size());
  while (end < text.size() && is_inside(end)) ++end;
  std::string snippet(begin > 0 ? "..." : "");
  snippet.append(chat::collapsed(text.substr(begin, end - begin)));
  if (end < text.size()) snippet.append("...");
  return snippet;
}

Tree hit_of(const store::ThreadRow& thread, const Tree& item, std::size_t at) {
  Tree hit = Tree::object();
  hit.set("conversation_id", thread.id);
  hit.set("title", thread.title);
  for (const std::string_view name : {"message_id", "role", "timestamp"}) hit.set(name, item[name]);
  hit.set("snippet", snippet_of(item["content"].string(), at));
  return hit;
}

// The newest message first, behind the one that the search names. `edge` is the thread's cursor.
Result<void> look_in(store::StorageBackend& backend, const store::ThreadRow& thread,
                     const std::string& edge, Search& search) {
  auto rows = backend.messages(search.principal, thread.id);
  if (!rows) return rows.error();
  for (const store::MessageRow& row : rows.value()) search.bytes += row.json.size();
  const auto records = records_of(rows.value());
  const auto id_of = [](const chat::HistoryRecord& record) {
    return record.item["message_id"].string();
  };
  auto at = records.rbegin();
  if (!search.message.empty()) {
    const auto known = std::find_if(records.rbegin(), records.rend(), [&](const auto& record) {
      return id_of(record) == search.message;
    });
    if (known != records.rend()) at = known + 1;
  }
  for (; at != records.rend(); ++at) {
    const Tree& item = at->item;
    if (!search.role.empty() && item["role"].string() != search.role) continue;
    const std::size_t place = find_folded(item["content"].string(), search.query);
    if (place == std::string::npos) continue;
    if (search.hits.items().size() == search.limit) {
      search.is_full = true;
      return {};
    }
    search.hits.push(hit_of(thread, item, place));
    search.edge = edge;
    search.message = id_of(*at);
  }
  search.edge = edge;
  search.message.clear();
  return {};
}

// Threads of the store, until the search is full or over, or others are to have a turn.
Result<void> look_on(store::StorageBackend& backend, Search& search) {
  const std::size_t begun = search.bytes;
  const bool is_one = !search.conversation.empty();
  if (is_one || !search.message.empty()) {
    auto row = backend.thread(search.principal, is_one ? search.conversation : search.thread());
    if (!row) return row.error();
    // The place among the others stays that of the cursor.
    const std::string edge = search.edge;
    if (row.value()) MILLRACE_TRY(look_in(backend, *row.value(), edge, search));
    search.is_over = is_one && !search.is_full;
    if (search.is_full || is_one) return {};
    search.message.clear();
  }
  auto page = run::front::thread_page(backend, search.principal, search.edge, slice_threads);
  if (!page) return page.error();
  for (const store::ThreadRow& row : page.value().threads) {
    MILLRACE_TRY(look_in(backend, row, run::front::cursor_at(row), search));
    if (search.is_full || search.bytes - begun > slice_bytes) return {};
  }
  search.is_over = page.value().next.empty();
  return {};
}

void search_on(const ApiContextPtr& context, const std::shared_ptr<Search>& search) {
  context->read_store<Result<void>>(
      [search](store::StorageBackend& backend) { return look_on(backend, *search); },
      [context, search](const Result<void>& looked) {
        if (!looked) return send_failure(search->response, looked.error());
        const bool is_done = search->is_over || search->is_full || search->bytes > request_bytes;
        // A client that left needs no answer.
        if (!is_done && search->response->is_open()) return search_on(context, search);
        Tree body = Tree::object();
        body.set("count", Tree::integer(static_cast<std::int64_t>(search->hits.items().size())));
        body.set("items", search->hits);
        body.set("next_cursor", search->cursor());
        send_json(search->response, 200, body);
      });
}

void on_search(const ApiContextPtr& context, const http::Request& request,
               const ResponsePtr& response) {
  const auto search = std::make_shared<Search>();
  search->query = folded(json::trim(request.query_value("q").value_or("")));
  if (search->query.empty()) return send_refusal(response, 400, "q is required");
  if (search->query.size() > most_query) return send_refusal(response, 400, "q is too long");
  search->role = request.query_value("role").value_or("");
  if (!search->role.empty() && search->role != "user" && search->role != "bot") {
    return send_refusal(response, 400, "role must be user or bot");
  }
  search->principal = principal_of(request, *context);
  search->conversation = request.query_value("conversation_id").value_or("");
  search->limit = static_cast<std::size_t>(std::min(
      number_in(request, "limit", 1).value_or(static_cast<std::int64_t>(usual_hits)), most_hits));
  search->put_cursor(request.query_value("cursor").value_or(""));
  search->response = response;
  search_on(context, search);
}

// --- a conversation as a file

struct ExportFormat {
  std::string_view name;
  std::string_view media;
  std::string_view suffix;
  std::string (*text)(const Conversation& conversation, const std::vector<store::MessageRow>& rows,
                      const ApiOptions& options);
};

std::string line_of(std::string_view type, const Tree& value) {
  Tree line = Tree::object();
  line.set("type", type);
  line.set(type, value);
  return line.to_json(json::Surrogates::replace) + "\n";
}

// Messages as they are stored, without what pipelines left for the agent alone.
std::string json_lines(const Conversation& conversation, const std::vector<store::MessageRow>& rows,
                       const ApiOptions& options) {
  std::string text = line_of("conversation", conversation_json(conversation, options));
  for (const store::MessageRow& row : rows) {
    auto message = Tree::parse(row.json);
    if (!message) continue;
    for (const char* name : {"notes", "pipelines"}) message.value().erase(name);
    text.append(line_of("message", message.value()));
  }
  return text;
}

// Messages as a history shows them.
std::string markdown(const Conversation& conversation, const std::vector<store::MessageRow>& rows,
                     const ApiOptions& options) {
  static_cast<void>(options);
  const std::string_view title = conversation.titled["title"].string();
  std::string text = "# " + chat::collapsed(title) + "\n";
  for (const chat::HistoryRecord& record : records_of(rows)) {
    const Tree& item = record.item;
    text.append("\n## ").append(record.is_user ? "User" : "Assistant");
    const std::string_view time = item["timestamp"].string();
    if (!time.empty()) text.append(", ").append(time);
    text.append("\n\n").append(json::trim(item["content"].string())).append("\n");
    for (const Tree& attachment : item["attachments"].items()) {
      text.append("\n- ").append(chat::collapsed(attachment["display_name"].string())).append("\n");
    }
  }
  return text;
}

constexpr std::array export_formats{
    ExportFormat{"jsonl", "application/x-ndjson; charset=utf-8", ".jsonl", json_lines},
    ExportFormat{"markdown", "text/markdown; charset=utf-8", ".md", markdown}};

struct Exported {
  std::string name;
  std::string text;
};

using Export = Result<std::optional<Exported>>;

Export export_of(store::StorageBackend& backend, const std::string& principal,
                 const std::string& id, const ExportFormat& format, const ApiOptions& options) {
  auto found = load_conversation(backend, principal, id);
  if (!found) return found.error();
  if (!found.value()) return std::optional<Exported>();
  auto rows = backend.messages(principal, id);
  if (!rows) return rows.error();
  const std::string title(found.value()->titled["title"].string());
  return std::optional(
      Exported{chat::file_name((title.empty() ? id : title) + std::string(format.suffix)),
               format.text(*found.value(), rows.value(), options)});
}

void on_export(const ApiContextPtr& context, const http::Request& request,
               const ResponsePtr& response) {
  const std::string wanted = request.query_value("format").value_or("jsonl");
  const auto* format = std::find_if(export_formats.begin(), export_formats.end(),
                                    [&](const ExportFormat& row) { return row.name == wanted; });
  if (format == export_formats.end()) {
    return send_refusal(response, 400, "format must be jsonl or markdown");
  }
  constexpr std::size_t conversation_at = 4;  // /api/v1/chat/conversations/<id>/export
  context->read_store<Export>(
      [context, principal = principal_of(request, *context),
       id = request.path_segment(conversation_at), format](store::StorageBackend& backend) {
        return export_of(backend, principal, id, *format, context->options);
      },
      [response, format](const Export& made) {
        if (!made) return send_failure(response, made.error());
        if (!made.value()) return send_refusal(response, 404, "Conversation not found");
        (void)response->send(
            200,
            {{"Content-Type", std::string(format->media)},
             {"Content-Disposition", chat::content_disposition("attachment", made.value()->name)},
             {"Cache-Control", "no-store"},
             {"X-Content-Type-Options", "nosniff"}},
            made.value()->text);
      });
}

}  // namespace

std::vector<ApiRoute> search_routes(const ApiContextPtr& context) {
  return {
      {"GET", "/api/v1/chat/search", "read", "Messages with a text, the latest first.",
       [context](http::Request&& request, const ResponsePtr& response) {
         on_search(context, request, response);
       },
       "", "SearchAnswer", 200, 0,
       "q:string conversation_id:string role:string limit:integer cursor:string"},
      {"GET", "/api/v1/chat/conversations/{conversation_id}/export", "read",
       "A whole conversation as a file.",
       [context](http::Request&& request, const ResponsePtr& response) {
         on_export(context, request, response);
       },
       "", "Binary", 200, 0, "format:string"},
  };
}

}  // namespace millrace::api
