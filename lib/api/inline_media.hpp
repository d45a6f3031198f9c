// Pictures and files that an agent writes into its text: they become attachments.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chat/job_event.hpp"
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

}  // namespace millrace::api
