#include "api/turn_titles.hpp"

#include <utility>

#include "api/conversations.hpp"
#include "api/inline_media.hpp"
#include "chat/titles.hpp"

namespace millrace::api {

namespace {

// A conversation with its first question and answer.
struct Untitled {
  Conversation conversation;
  TitleRequest request;
};

// Nothing where no title is wanted.
std::optional<Untitled> find_untitled(store::StorageBackend& backend, const std::string& principal,
                                      const std::string& id) {
  auto found = load_conversation(backend, principal, id);
  auto rows = backend.messages(principal, id);
  if (!found || !found.value() || !rows) return std::nullopt;
  TitleRequest request;
  for (const chat::HistoryRecord& record : records_of(rows.value())) {
    if (record.is_display_only) continue;
    std::string& part = record.is_user ? request.question : request.answer;
    if (part.empty()) part = without_media(record.item["content"].string());
  }
  Conversation& conversation = *found.value();
  if (!chat::wants_title(conversation.titled, request.question, request.answer, backend.now())) {
    return std::nullopt;
  }
  return Untitled{std::move(conversation), std::move(request)};
}

// Nothing where the conversation has a title already.
std::optional<Conversation> named_after(store::StorageBackend& backend,
                                        const std::string& principal, const std::string& id,
                                        const std::string& question) {
  auto found = load_conversation(backend, principal, id);
  if (!found || !found.value()) return std::nullopt;
  Conversation& conversation = *found.value();
  const std::string before = conversation.titled.to_json();
  chat::title_from_message(conversation.titled, question, backend.now());
  if (conversation.titled.to_json() == before) return std::nullopt;
  return std::move(conversation);
}

}  // namespace

bool is_title_due(store::StorageBackend& backend, const std::string& principal,
                  const std::string& id) {
  return find_untitled(backend, principal, id).has_value();
}

std::optional<TitleRequest> begin_title(store::StorageBackend& backend,
                                        const std::string& principal, const std::string& id) {
  auto found = find_untitled(backend, principal, id);
  if (!found) return std::nullopt;
  auto& [conversation, request] = *found;
  request.basis =
      chat::request_title(conversation.titled, request.question, request.answer, backend.now());
  if (!save_conversation(backend, conversation)) return std::nullopt;
  return std::move(request);
}

void name_after(const ApiContextPtr& context, const std::string& principal, const std::string& id,
                const std::string& question, std::function<void()> done) {
  const auto named = [principal, id, question](store::StorageBackend& backend) {
    return named_after(backend, principal, id, question);
  };
  // Most have a title, and no commit waits for a read.
  context->read_store<bool>(
      [named](store::StorageBackend& backend) { return named(backend).has_value(); },
      [context, named, done = std::move(done)](bool is_nameless) {
        if (!is_nameless) return done();
        context->with_store<bool>(
            [named](store::StorageBackend& backend) {
              auto conversation = named(backend);
              return conversation && save_conversation(backend, *conversation).ok();
            },
            [done](bool) { done(); });
      });
}

bool end_title(store::StorageBackend& backend, const std::string& principal, const std::string& id,
               const std::string& basis, const std::string& title) {
  auto found = load_conversation(backend, principal, id);
  if (!found || !found.value()) return false;
  chat::end_title(found.value()->titled, basis, title, backend.now());
  return save_conversation(backend, *found.value()).ok();
}

}  // namespace millrace::api
