// Attachments of messages as a model reads them: each named in the text, and as content what models
// take, images, PDF documents and texts.
//
// The state of a run has their ids and hashes alone; the bytes are read with each request to the
// model. What a model's API does not take is left out of the request there, with a warning.
#pragma once

#include <string>
#include <string_view>

#include "base/json_tree.hpp"
#include "store/backend.hpp"

namespace millrace::run {

// `source_kind` of a reference to an attachment of the store. Members of this name that clients
// send have others.
inline constexpr std::string_view stored_attachment = "runtime_webchat_attachment";

// Whether a message of the user has references to attachments.
bool has_attachments(const json::Tree& messages);

// Adds the attachments to the messages that have references to them. The latest ones get their
// bytes first: of older ones only the names remain once the limit of all is reached. One that was
// removed since has `error="attachment_not_found"` in its name, and one with other bytes than those
// that were attached `error="attachment_changed"`.
// Errors: none; of what cannot be read the name remains.
void add_attachments(store::StorageBackend& backend, const std::string& principal,
                     json::Tree& messages);

}  // namespace millrace::run
