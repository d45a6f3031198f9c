// Media that are written into a text: what is taken out of it is stored whole, and the rest stays.
#include <string>
#include <vector>

#include "api/attachment_routes.hpp"
#include "api/inline_media.hpp"
#include "fuzz_support.hpp"

using namespace millrace;

// What clients are shown of an attachment is no part of reading, and would need the HTTP server.
json::Tree api::attachment_json(const store::AttachmentRow& row) {
  json::Tree json = json::Tree::object();
  json.set("id", row.id);
  return json;
}

namespace {

constexpr std::uint64_t most_bytes = 512;
const api::MediaOrigin origin{"local", 1};

void check_medium(const api::InlineMedium& medium, std::string_view text) {
  fuzz::require(!medium.bytes.empty(), "a medium has bytes");
  fuzz::require(medium.row.size == static_cast<std::int64_t>(medium.bytes.size()),
                "its row has its size");
  fuzz::require(!medium.row.name.empty() && !medium.row.media.empty(), "it has a name and a type");
  fuzz::require(text.find("<attachment uid=\"" + medium.row.id + "\"/>") != std::string_view::npos,
                "the text has what stands for it");
}

void check_user(std::string_view text) {
  const auto taken = api::take_inline_media(text, origin, most_bytes);
  if (!taken) return;
  const auto& media = taken.value().media;
  fuzz::require(media.size() <= api::most_inline_media, "no more media than allowed");
  fuzz::require(!media.empty() || taken.value().text == text, "without media a text stays");
  for (const api::InlineMedium& medium : media) {
    fuzz::require(medium.bytes.size() <= most_bytes, "no larger medium than allowed");
    check_medium(medium, taken.value().text);
  }
}

void check_agent(std::string_view text) {
  std::vector<api::InlineMedium> media;
  const chat::Output output = api::shape_output(text, origin, media);
  fuzz::require(output.attachments.items().size() == media.size(), "each medium is an attachment");
  fuzz::require(!media.empty() || output.content == text, "without media a text stays");
  for (const api::InlineMedium& medium : media) check_medium(medium, output.content);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_user(text);
  check_agent(text);
  static_cast<void>(api::without_media(text));
  return 0;
}
