#include "api/lobe_chat.hpp"

#include <string>
#include <utility>

#include "api/api_answers.hpp"
#include "api/conversations.hpp"
#include "api/lobe_answers.hpp"
#include "base/shown.hpp"
#include "run/stored_members.hpp"

namespace millrace::api {
namespace {

using json::Tree;

constexpr std::size_t most_topics = 200;

// Messages that are sent together, and what they become.
struct LobeSending {
  std::string principal;
  Tree body;
  std::string topic;
  std::string thread;  // "" is the topic itself
  bool has_new_thread = false;
  bool has_new_topic = false;

  Result<Tree> store(store::StorageBackend& backend);

 private:
  Result<void> make_thread(store::StorageBackend& backend, const std::string& id,
                           std::string_view title) const;
  Result<void> find_thread(store::StorageBackend& backend);
  [[nodiscard]] Tree user_message(const std::string& id) const;
  [[nodiscard]] Tree assistant_message(const std::string& id, const std::string& parent) const;
};

Result<void> LobeSending::make_thread(store::StorageBackend& backend, const std::string& id,
                                      std::string_view title) const {
  Conversation made = make_conversation(principal, id, title, backend.now());
  return save_conversation(backend, made);
}

Result<void> LobeSending::find_thread(store::StorageBackend& backend) {
  topic = body["topicId"].string();
  thread = body["threadId"].string();
  if (body["newTopic"].is_object()) {
    has_new_topic = true;
    topic = "topic_" + ordered_hex_id();
    MILLRACE_TRY(make_thread(backend, topic, body["newTopic"]["title"].string()));
  }
  if (body["newThread"].is_object()) {
    has_new_thread = true;
    thread = "thread_" + ordered_hex_id();
    MILLRACE_TRY(make_thread(backend, thread, body["newThread"]["title"].string()));
  }
  const std::string& wanted = thread.empty() ? topic : thread;
  if (wanted.empty()) {
    return make_error(Errc::invalid_body, "The message needs a `topicId`, or a `newTopic`.");
  }
  auto known = backend.thread(principal, wanted);
  if (!known) return std::move(known).error();
  if (known.value()) return {};
  return make_error(Errc::thread_not_found, "There is no topic " + shown_text(wanted) + ".");
}

Tree LobeSending::user_message(const std::string& id) const {
  const Tree& given = body["newUserMessage"];
  Tree message = Tree::object();
  message.set("id", id);
  message.set("role", "user");
  message.set("content", given["content"]);
  if (!given["files"].items().empty()) message.set("files", given["files"]);
  const std::string_view parent = given["parentId"].string();
  message.set("parentId", parent.empty() ? std::string_view(topic) : parent);
  return message;
}

// Its client writes what it says; until then no model sees it.
Tree LobeSending::assistant_message(const std::string& id, const std::string& parent) const {
  const Tree& given = body["newAssistantMessage"];
  Tree message = Tree::object();
  message.set("id", id);
  message.set("role", "assistant");
  message.set("content", "");
  message.set("displayOnly", Tree::flag(true));
  message.set("parentId", parent);
  for (const char* name : {"model", "provider", "metadata"}) {
    if (!given[name].is_null()) message.set(name, given[name]);
  }
  return message;
}

// Without what is for the server alone, as the notes of pipelines.
Tree shown_message(const store::MessageRow& row) {
  Tree message = parsed_json(row.json);
  Tree created = message["createdAt"];
  run::leave_out_stored_members(message);
  if (created.is_number()) message.set("createdAt", std::move(created));
  return message;
}

Result<Tree> LobeSending::store(store::StorageBackend& backend) {
  MILLRACE_TRY(find_thread(backend));
  const std::string& place = thread.empty() ? topic : thread;
  auto rows = backend.messages(principal, place);
  if (!rows) return std::move(rows).error();
  const std::string user = "msg_" + hex_id();
  const std::string assistant = "msg_" + hex_id();
  std::int64_t next = rows.value().empty() ? 0 : rows.value().back().place + 1;
  std::vector<store::MessageRow> added;
  for (Tree message : {user_message(user), assistant_message(assistant, user)}) {
    message.set("createdAt", Tree::integer(backend.now()));
    const std::string id(message["id"].string());
    added.push_back({id, next++, message.to_json(json::Surrogates::keep)});
  }
  MILLRACE_TRY(backend.put_messages(principal, place, added));

  Tree answer = Tree::object();
  answer.set("userMessageId", user);
  answer.set("assistantMessageId", assistant);
  answer.set("topicId", topic);
  answer.set("isCreateNewTopic", Tree::flag(has_new_topic));
  if (has_new_thread) answer.set("createdThreadId", thread);
  Tree& messages = answer.set("messages", Tree::array());
  for (const auto* list : {&rows.value(), &added}) {
    for (const store::MessageRow& row : *list) messages.push(shown_message(row));
  }
  if (!has_new_topic) return answer;
  auto threads = backend.threads(principal, {}, most_topics);
  if (!threads) return std::move(threads).error();
  Tree items = Tree::array();
  for (const store::ThreadRow& row : threads.value()) {
    if (row.id.starts_with(own_threads)) continue;
    Tree& item = items.push(Tree::object());
    item.set("id", row.id);
    item.set("title", row.title);
    item.set("createdAt", lobe_time(row.created));
    item.set("updatedAt", lobe_time(row.updated));
  }
  Tree topics = Tree::object();
  topics.set("total", Tree::integer(static_cast<std::int64_t>(items.items().size())));
  topics.set("items", std::move(items));
  answer.set("topics", std::move(topics));
  return answer;
}

void send_message(const ApiContextPtr& context, const http::Request& request,
                  const ResponsePtr& response) {
  auto body = turn_in(request, response);
  if (!body) return;
  if (!(*body)["newUserMessage"]["content"].is_string()) {
    return send_refusal(response, 400, "newUserMessage.content is required");
  }
  const auto sending = std::make_shared<LobeSending>();
  sending->principal = principal_of(request, *context);
  sending->body = std::move(*body);
  context->with_store<Result<Tree>>(
      [sending](store::StorageBackend& backend) { return sending->store(backend); },
      [response](const Result<Tree>& stored) {
        if (!stored) return send_failure(response, stored.error());
        send_json(response, 200, stored.value());
      });
}

// By the host's function, which knows its models.
void output_json(const ApiContextPtr& context, const http::Request& request,
                 const ResponsePtr& response) {
  auto body = turn_in(request, response);
  if (!body) return;
  if (!context->options.makes_objects) {
    return send_refusal(response, 503, "Structured output needs `api.object` of createRuntime()");
  }
  if (!(*body)["messages"].is_array()) {
    return send_refusal(response, 400, "messages must be an array");
  }
  if (!(*body)["schema"].is_object() && !(*body)["tools"].is_array()) {
    return send_refusal(response, 400, "schema or tools are required");
  }
  context->ask("object", std::move(*body), [response](const Result<Tree>& made) {
    if (!made) return send_failure(response, made.error());
    send_json(response, 200, made.value());
  });
}

}  // namespace

std::vector<ApiRoute> lobe_chat_routes(const ApiContextPtr& context) {
  using Handle = void (*)(const ApiContextPtr&, const http::Request&, const ResponsePtr&);
  const auto handler = [context](Handle handle) {
    return [context, handle](http::Request&& request, const ResponsePtr& response) {
      handle(context, request, response);
    };
  };
  return {
      {"POST", "/api/agent/chat/send-message", "chat",
       "Stores a message of the user and the place of its answer.", handler(send_message),
       "LobeMessage", "LobeSent"},
      {"POST", "/api/agent/chat/output-json", "chat", "Has a model make an object.",
       handler(output_json), "LobeObjectRequest", "Any"},
  };
}

}  // namespace millrace::api
