// Pictures and files that an agent or a user writes into a text: they become attachments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "chat/job_event.hpp"
#include "store/backend.hpp"
#include "store/types.hpp"

namespace millrace::api {

struct InlineMedium {
  store::AttachmentRow row;
  std::string bytes;
};

// Who wrote a text, and when.
struct MediaOrigin {
  std::string principal;
  std::int64_t at_ms = 0;
};

// The text with `<attachment uid="..."/>` in place of each medium (`[CQ:image,file=base64://...]`),
// and what the media are. Nothing but the text and the principal decides about their ids.
// Shape: `media` gets each one once.
chat::Output shape_output(std::string_view text, const MediaOrigin& origin,
                          std::vector<InlineMedium>& media);

struct TakenMedia {
  std::string text;  // with `<attachment uid="..."/>` in place of each medium
  std::vector<InlineMedium> media;
};

inline constexpr std::size_t most_inline_media = 16;

// The same of a text of the user: segments with `base64://` or a `data:` URL as their `file` or
// `url`, and `data:` URLs in base64 elsewhere whose bytes are of a medium that models take.
// Errors: invalid_body for a segment that is not base64, and for more different media than
// most_inline_media; body_too_large for one beyond `most_bytes`.
Result<TakenMedia> take_inline_media(std::string_view text, const MediaOrigin& origin,
                                     std::uint64_t most_bytes);

// The text without what stands for its media, for a title.
std::string without_media(std::string_view text);

// Stores those that are not there yet, each also where another one failed.
// Errors: the first of the backend.
Result<void> put_media(store::StorageBackend& backend, const std::vector<InlineMedium>& media);

}  // namespace millrace::api
