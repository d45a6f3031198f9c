// Threads, messages, artifacts and attachments of a store as a chat front end has them.
// Source: OpenUI's ChatStorage (@openuidev/react-headless 0.9.13).
#pragma once

#include <string>
#include <string_view>

#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "store/backend.hpp"

namespace millrace::run::front {

// One operation. Its options have a "principal"; what belongs to another one is not there.
// Thread: the store's.
// Errors: thread_not_found, message_not_found, artifact_not_found, attachment_not_found, invalid_argument; those of
// the backend.
using Work = Result<json::Tree> (*)(store::StorageBackend& backend, const json::Tree& options);

// The operation of a name; null for an unknown one.
// Units: times in milliseconds since 1970.
//
// | name | options | gives |
// | --- | --- | --- |
// | thread.list | cursor?, limit? | threads, nextCursor?: the last changed first |
// | thread.create | id, message: the first one | id, title, createdAt |
// | thread.messages | threadId | an array; [] for an unknown thread |
// | thread.update | thread: id, title, others | the thread |
// | thread.delete | id | whether it was there; run_conflict where a run of it is not over |
// | thread.setMessages | threadId, messages: all of it | null |
// | thread.updateMessage | threadId, message: replaces the one with its id | null |
// | artifact.list | name?, type?: an array, cursor?, limit? | artifacts, nextCursor? |
// | artifact.get | id | the artifact |
// | artifact.create | artifact: title, type, threadId, content, id? | the artifact |
// | artifact.update | id, content | the artifact without its content |
// | artifact.delete | id | whether it was there |
// | attachment.put | name, media?, threadId?, data: Base64 | the attachment |
// | attachment.get | id | the attachment with its data |
// | attachment.delete | id | whether it was there |
Work find_work(std::string_view name);

struct ThreadPage {
  std::vector<store::ThreadRow> threads;
  std::string next;  // cursor of the page that follows; "" is none
};
// Threads of a principal, the last changed first, without those of the server itself. A cursor
// holds when the thread at its place changes or goes.
// Errors: invalid_argument for what is no cursor.
Result<ThreadPage> thread_page(store::StorageBackend& backend, const std::string& principal,
                               std::string_view cursor, std::size_t limit);
// The cursor of what is behind a thread.
std::string cursor_at(const store::ThreadRow& row);

}  // namespace millrace::run::front
