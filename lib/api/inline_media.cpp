#include "api/inline_media.hpp"

#include <optional>
#include <string_view>
#include <utility>

#include "api/attachment_routes.hpp"
#include "base/base64.hpp"
#include "base/sha256.hpp"
#include "chat/ids.hpp"
#include "message/media_type.hpp"

namespace millrace::api {
namespace {

constexpr std::string_view mark = "[CQ:";
constexpr std::string_view scheme = "base64://";
constexpr std::size_t id_digits = 32;

std::string_view media_of(std::string_view bytes) {
  const std::string_view type = message::type_by_content(bytes);
  return type.empty() ? "application/octet-stream" : type;
}

// `file=` of a segment such as "image,file=base64://...,name=a.png".
std::string_view member_of(std::string_view segment, std::string_view name) {
  const std::string wanted = "," + std::string(name) + "=";
  const std::size_t begin = segment.find(wanted);
  if (begin == std::string_view::npos) return {};
  const std::string_view value = segment.substr(begin + wanted.size());
  return value.substr(0, value.find(','));
}

std::optional<InlineMedium> read_medium(std::string_view segment, const MediaOrigin& origin) {
  const std::string_view file = member_of(segment, "file");
  if (!file.starts_with(scheme)) return std::nullopt;
  auto bytes = base64::decode(file.substr(scheme.size()));
  if (!bytes) return std::nullopt;
  InlineMedium medium;
  medium.bytes = std::move(*bytes);
  medium.row.media = media_of(medium.bytes);
  const bool is_image = medium.row.media.starts_with("image/");
  medium.row.hash = sha256_hex(medium.bytes);
  medium.row.id = (is_image ? "pic_" : "file_") +
                  sha256_hex(origin.principal + "\n" + medium.row.hash).substr(0, id_digits);
  medium.row.principal = origin.principal;
  medium.row.created = origin.at_ms;
  const std::string_view name = member_of(segment, "name");
  const std::string ending(medium.row.media.substr(medium.row.media.find('/') + 1));
  medium.row.name =
      name.empty() ? (is_image ? "image." + ending : "file") : chat::attachment_name(name);
  medium.row.size = static_cast<std::int64_t>(medium.bytes.size());
  return medium;
}

}  // namespace

chat::Output shape_output(std::string_view text, const MediaOrigin& origin,
                          std::vector<InlineMedium>& media) {
  chat::Output output;
  for (std::size_t begin = text.find(mark); begin != std::string_view::npos;
       begin = text.find(mark)) {
    const std::size_t end = text.find(']', begin);
    if (end == std::string_view::npos) break;
    const std::string_view segment = text.substr(begin + mark.size(), end - begin - mark.size());
    auto medium = read_medium(segment, origin);
    if (!medium) {
      output.content += text.substr(0, end + 1);
    } else {
      output.content += text.substr(0, begin);
      output.content += "<attachment uid=\"" + medium->row.id + "\"/>";
      output.attachments.push(attachment_json(medium->row));
      media.push_back(std::move(*medium));
    }
    text.remove_prefix(end + 1);
  }
  output.content += text;
  return output;
}

}  // namespace millrace::api
