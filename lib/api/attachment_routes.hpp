// Files of conversations: everything below /api/v1/chat/attachments.
#pragma once

#include <vector>

#include "api/api_context.hpp"
#include "api/inline_media.hpp"

namespace millrace::api {

std::vector<ApiRoute> attachment_routes(const ApiContextPtr& context);

// Shape: {id, uid, name, display_name, size, media_type, kind, sha256, created_at, download_url,
// discarded, source_kind, source_ref, preview_url?}.
json::Tree attachment_json(const store::AttachmentRow& row);
// As a message keeps it.
// Shape: {uid, kind, media_type, display_name, source_kind, source_ref}.
json::Tree attachment_reference(const store::AttachmentRow& row);
// What a message has of these media in `attachments`.
json::Tree references_of(const std::vector<InlineMedium>& media);
// What a message keeps, with where its bytes are.
json::Tree with_addresses(json::Tree attachment);

}  // namespace millrace::api
