#include "api/storage_routes.hpp"

#include <array>
#include <ctime>
#include <utility>

#include "api/api_answers.hpp"
#include "api/thread_removal.hpp"
#include "os/random_ids.hpp"
#include "run/durable/chat_storage.hpp"

namespace millrace::api {
namespace {

using json::Tree;

constexpr std::size_t first_place = 3;   // /api/storage/get/<id>
constexpr std::size_t second_place = 4;  // /api/storage/messages/<thread>/<id>

// "2026-01-31T23:59:59.000Z", as JavaScript writes times.
std::string utc_time(std::int64_t at_ms) {
  const std::time_t seconds = at_ms / 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::string text(sizeof("2026-01-31T23:59:59") - 1, '\0');
  std::strftime(text.data(), text.size() + 1, "%Y-%m-%dT%H:%M:%S", &parts);
  const std::string ms = std::to_string(1000 + at_ms % 1000).substr(1);
  return text + "." + ms + "Z";
}

// Clients have times as texts.
void show_times(Tree& value) {
  for (const std::string_view name : {"createdAt", "updatedAt"}) {
    if (value[name].is_number()) value.set(name, utc_time(value[name].integer_or(0)));
  }
  for (const std::string_view list : {"threads", "artifacts"}) {
    if (Tree* const items = value.find(list)) {
      for (Tree& item : items->items()) show_times(item);
    }
  }
}

void put_text(Tree& options, std::string_view name, const http::Request& request) {
  if (const auto value = request.query_value(name)) options.set(name, *value);
}

// What an operation gets of its request. Nothing where the body is no object, which is answered.
using ReadOptions = std::optional<Tree> (*)(const http::Request& request,
                                            const ResponsePtr& response);

Tree message_in(const Tree& body) {
  const auto& messages = body["messages"].items();
  return messages.empty() ? Tree() : messages.front();
}

std::optional<Tree> list_options(const http::Request& request, const ResponsePtr& response) {
  static_cast<void>(response);
  Tree options = Tree::object();
  put_text(options, "cursor", request);
  if (const auto limit = number_in(request, "limit", 1)) {
    options.set("limit", Tree::integer(*limit));
  }
  return options;
}

std::optional<Tree> artifact_list_options(const http::Request& request,
                                          const ResponsePtr& response) {
  auto options = list_options(request, response);
  put_text(*options, "name", request);
  put_text(*options, "threadId", request);
  if (const auto types = request.query_values("type"); !types.empty()) {
    Tree& list = options->set("type", Tree::array());
    for (const std::string& type : types) list.push(Tree::text(type));
  }
  return options;
}

std::optional<Tree> create_options(const http::Request& request, const ResponsePtr& response) {
  const auto body = object_in(request, response);
  if (!body) return std::nullopt;
  Tree options = Tree::object();
  options.set("id", os::RandomIds().next_id());
  Tree message = message_in(*body);
  if (message.is_object() && message["id"].is_null()) message.set("id", os::RandomIds().next_id());
  options.set("message", std::move(message));
  return options;
}

std::optional<Tree> thread_options(const http::Request& request, const ResponsePtr& response) {
  static_cast<void>(response);
  Tree options = Tree::object();
  options.set("threadId", request.path_segment(first_place));
  return options;
}

std::optional<Tree> id_options(const http::Request& request, const ResponsePtr& response) {
  static_cast<void>(response);
  Tree options = Tree::object();
  options.set("id", request.path_segment(first_place));
  return options;
}

std::optional<Tree> update_options(const http::Request& request, const ResponsePtr& response) {
  auto body = object_in(request, response);
  if (!body) return std::nullopt;
  body->set("id", request.path_segment(first_place));
  Tree options = Tree::object();
  options.set("thread", std::move(*body));
  return options;
}

std::optional<Tree> message_options(const http::Request& request, const ResponsePtr& response) {
  const auto body = object_in(request, response);
  if (!body) return std::nullopt;
  Tree message = message_in(*body);
  if (message.is_object()) message.set("id", request.path_segment(second_place));
  Tree options = Tree::object();
  options.set("threadId", request.path_segment(first_place));
  options.set("message", std::move(message));
  return options;
}

std::optional<Tree> artifact_options(const http::Request& request, const ResponsePtr& response) {
  auto body = object_in(request, response);
  if (!body) return std::nullopt;
  Tree options = Tree::object();
  options.set("artifact", std::move(*body));
  return options;
}

std::optional<Tree> content_options(const http::Request& request, const ResponsePtr& response) {
  const auto body = object_in(request, response);
  if (!body) return std::nullopt;
  Tree options = Tree::object();
  options.set("id", request.path_segment(first_place));
  for (const std::string_view name : {"title", "content"}) {
    if (const Tree* value = body->find(name)) options.set(name, *value);
  }
  return options;
}

struct StorageRow {
  std::string_view method;
  std::string_view path;
  std::string_view scope;
  std::string_view summary;
  std::string_view work;
  ReadOptions read;
  int status;
  std::string_view query;
};

constexpr std::array<StorageRow, 11> storage_rows{{
    {"GET", "/api/storage/get", "read", "Threads, the last changed first.", "thread.list",
     list_options, 200, "cursor:string limit:integer"},
    {"POST", "/api/storage/create", "chat", "Creates a thread of its first message.",
     "thread.create", create_options, 200, ""},
    {"GET", "/api/storage/get/{thread_id}", "read", "The messages of a thread.", "thread.messages",
     thread_options, 200, ""},
    {"PATCH", "/api/storage/update/{thread_id}", "chat", "Changes a thread.", "thread.update",
     update_options, 200, ""},
    {"DELETE", "/api/storage/delete/{thread_id}", "chat",
     "Removes a thread with all that belongs to it.", "thread.delete", id_options, 204, ""},
    {"PATCH", "/api/storage/messages/{thread_id}/{message_id}", "chat", "Replaces a message.",
     "thread.updateMessage", message_options, 204, ""},
    {"GET", "/api/storage/artifacts", "read", "Artifacts without their content.", "artifact.list",
     artifact_list_options, 200,
     "name:string type:string threadId:string cursor:string limit:integer"},
    {"POST", "/api/storage/artifacts", "chat", "Creates an artifact.", "artifact.create",
     artifact_options, 201, ""},
    {"GET", "/api/storage/artifacts/{artifact_id}", "read", "An artifact.", "artifact.get",
     id_options, 200, ""},
    {"PATCH", "/api/storage/artifacts/{artifact_id}", "chat",
     "Changes the content or the title of an artifact.", "artifact.update", content_options, 200,
     ""},
    {"DELETE", "/api/storage/artifacts/{artifact_id}", "chat", "Removes an artifact.",
     "artifact.delete", id_options, 204, ""},
}};

void carry_out(const ApiContextPtr& context, const StorageRow& row, const http::Request& request,
               const ResponsePtr& response) {
  auto options = row.read(request, response);
  if (!options) return;
  options->set("principal", principal_of(request, *context));
  const auto done = [response, status = row.status](const Result<Tree>& result) {
    if (!result) return send_failure(response, result.error());
    if (status == 204) return (void)response->send(204, {}, {});
    Tree body = result.value();
    show_times(body);
    send_json(response, status, body);
  };
  if (row.work == "thread.delete") return remove_thread(context, std::move(*options), done);
  store::on_store<Result<Tree>>(
      *context->writer, context->loop,
      [work = run::front::find_work(row.work), options = *options](store::StorageBackend& backend) {
        return work(backend, options);
      },
      done, row.method == "GET" ? &store::Writer::read : &store::Writer::run);
}

}  // namespace

std::vector<ApiRoute> storage_routes(const ApiContextPtr& context) {
  std::vector<ApiRoute> routes;
  for (const StorageRow& row : storage_rows) {
    const bool has_body = row.method == "POST" || row.method == "PATCH";
    routes.push_back({row.method, row.path, row.scope, row.summary,
                      [context, &row](http::Request&& request, const ResponsePtr& response) {
                        carry_out(context, row, request, response);
                      },
                      has_body ? "Document" : "", row.status == 204 ? "" : "Any", row.status, 0,
                      row.query});
  }
  return routes;
}

}  // namespace millrace::api
