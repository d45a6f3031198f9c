#include "api/inline_media.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "api/attachment_routes.hpp"
#include "api/media_types.hpp"
#include "base/ascii.hpp"
#include "base/base64.hpp"
#include "base/json.hpp"
#include "base/sha256.hpp"
#include "chat/ids.hpp"
#include "message/media_type.hpp"

namespace millrace::api {
namespace {

constexpr std::string_view mark = "[CQ:";
constexpr std::string_view scheme = "base64://";
constexpr std::string_view data_scheme = "data:";
constexpr std::string_view comma_escape = "&#44;";
constexpr std::string_view tag_begin = "<attachment uid=\"";
constexpr std::string_view tag_end = "\"/>";
constexpr std::size_t id_digits = 32;

bool is_data_url(std::string_view text) {
  return equal_ignoring_case(text.substr(0, data_scheme.size()), data_scheme);
}

// Where the first one begins, or npos.
std::size_t find_data_url(std::string_view text) {
  constexpr std::size_t name = data_scheme.size() - 1;  // without the colon
  std::size_t colon = text.find(':');
  while (colon != std::string_view::npos) {
    if (colon >= name && is_data_url(text.substr(colon - name))) return colon - name;
    colon = text.find(':', colon + 1);
  }
  return colon;
}

// As segments write what would end a value.
std::string unescaped(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, char>, 4> escapes{
      {{comma_escape, ','}, {"&#91;", '['}, {"&#93;", ']'}, {"&amp;", '&'}}};
  std::string out;
  while (!text.empty()) {
    const auto* escape = std::find_if(escapes.begin(), escapes.end(), [text](const auto& one) {
      return text.starts_with(one.first);
    });
    const bool is_escape = escape != escapes.end();
    out.push_back(is_escape ? escape->second : text.front());
    text.remove_prefix(is_escape ? escape->first.size() : 1);
  }
  return out;
}

// `file=` of a segment such as "image,file=base64://...,name=a.png". The comma of a `data:` URL is
// a part of it, also where it is not written as an escape.
std::string member_of(std::string_view segment, std::string_view name) {
  const std::string wanted = "," + std::string(name) + "=";
  const std::size_t begin = segment.find(wanted);
  if (begin == std::string_view::npos) return {};
  const std::string_view value = segment.substr(begin + wanted.size());
  std::size_t end = value.find(',');
  const bool has_comma = value.substr(0, end).find(comma_escape) != std::string_view::npos;
  if (is_data_url(value) && !has_comma && end != std::string_view::npos) {
    end = value.find(',', end + 1);
  }
  return unescaped(value.substr(0, end));
}

// What a segment or an address gives: base64, and the type that it names.
struct Written {
  std::string base64;
  std::string type = {};
};

// Nothing for an address of another kind.
std::optional<Written> read_written(std::string_view address) {
  if (address.starts_with(scheme)) {
    return Written{std::string(address.substr(scheme.size())), std::string(open_media_type)};
  }
  message::Media media;
  media.value = address;
  std::string held;
  if (!message::take_data_url(media, held)) return std::nullopt;
  const std::string_view type = media.mime_type.substr(0, media.mime_type.find(';'));
  return Written{std::string(media.value), std::string(json::trim(type))};
}

InlineMedium medium_of(std::string bytes, std::string_view named_type, std::string_view name,
                       const MediaOrigin& origin) {
  InlineMedium medium;
  medium.bytes = std::move(bytes);
  const std::string_view by_name = media_type_of(name);
  const std::string_view named = by_name == open_media_type ? named_type : by_name;
  medium.row.media = checked_media_type(named.empty() ? open_media_type : named, medium.bytes);
  const bool is_image = medium.row.media.starts_with("image/");
  medium.row.hash = sha256_hex(medium.bytes);
  medium.row.id = (is_image ? "pic_" : "file_") +
                  sha256_hex(origin.principal + "\n" + medium.row.hash).substr(0, id_digits);
  medium.row.principal = origin.principal;
  medium.row.created = origin.at_ms;
  const std::string ending(medium.row.media.substr(medium.row.media.find('/') + 1));
  medium.row.name =
      name.empty() ? (is_image ? "image." + ending : "file") : chat::attachment_name(name);
  medium.row.size = static_cast<std::int64_t>(medium.bytes.size());
  return medium;
}

std::string tag_of(const InlineMedium& medium) {
  return std::string(tag_begin).append(medium.row.id).append(tag_end);
}

// A medium, where the segment has one; `is_broken` where it would be one and is not base64.
std::optional<InlineMedium> read_medium(std::string_view segment, const MediaOrigin& origin,
                                        bool& is_broken) {
  for (const std::string_view member : {"file", "url"}) {
    const auto written = read_written(member_of(segment, member));
    if (!written) continue;
    auto bytes = base64::decode(written->base64);
    is_broken = !bytes || bytes->empty();
    if (is_broken) return std::nullopt;
    return medium_of(std::move(*bytes), written->type, member_of(segment, "name"), origin);
  }
  return std::nullopt;
}

// A text of the user is read from its begin to its end.
class UserMedia {
 public:
  UserMedia(std::string_view text, const MediaOrigin& origin, std::uint64_t most_bytes)
      : rest_(text), origin_(origin), most_bytes_(most_bytes), size_(text.size()) {}

  Result<TakenMedia> take() {
    while (!rest_.empty()) {
      const std::size_t segment = find_segment();
      const std::size_t address = find_address();
      if (std::min(segment, address) == std::string_view::npos) break;
      MILLRACE_TRY(segment < address ? take_segment(segment) : take_address(address));
    }
    taken_.text += rest_;
    return std::move(taken_);
  }

 private:
  // Each is looked for again only behind where it was.
  std::size_t find_segment() {
    return find([](std::string_view text) { return text.find(mark); }, segment_at_);
  }
  std::size_t find_address() { return find(find_data_url, address_at_); }
  template <typename Find>
  std::size_t find(const Find& look, std::size_t& known) {
    const std::size_t here = size_ - rest_.size();
    if (known != std::string_view::npos && known < here) known = npos_unknown;
    if (known == npos_unknown) {
      const std::size_t at = look(rest_);
      known = at == std::string_view::npos ? at : here + at;
    }
    return known == std::string_view::npos ? known : known - here;
  }

  void copy(std::size_t bytes) {
    taken_.text += rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
  }

  Result<void> take_segment(std::size_t begin) {
    copy(begin);
    const std::size_t end = rest_.find(']');
    if (end == std::string_view::npos) {
      copy(rest_.size());
      return {};
    }
    bool is_broken = false;
    auto medium = read_medium(rest_.substr(mark.size(), end - mark.size()), origin_, is_broken);
    if (is_broken) {
      return make_error(Errc::invalid_body, "The medium " +
                                                std::to_string(taken_.media.size() + 1) +
                                                " of `message` ([CQ:...]) is not base64.");
    }
    if (!medium) {
      copy(end + 1);
      return {};
    }
    rest_.remove_prefix(end + 1);
    return add(std::move(*medium));
  }

  // What does not turn out to be a medium is a text that the user wrote.
  Result<void> take_address(std::size_t begin) {
    copy(begin);
    constexpr std::string_view ends = " \t\r\n\"'()<>[]`\\";
    const std::size_t end = std::min(rest_.find_first_of(ends), rest_.size());
    const std::string_view address = rest_.substr(0, end);
    const std::string_view head = address.substr(0, address.find(','));
    constexpr std::string_view base64_mark = ";base64";
    const bool is_base64 =
        head.size() >= base64_mark.size() &&
        equal_ignoring_case(head.substr(head.size() - base64_mark.size()), base64_mark);
    const auto written = is_base64 ? read_written(address) : std::nullopt;
    auto bytes = written ? base64::decode(written->base64) : std::nullopt;
    if (!bytes || message::type_by_content(*bytes).empty()) {
      copy(end);
      return {};
    }
    rest_.remove_prefix(end);
    return add(medium_of(std::move(*bytes), written->type, {}, origin_));
  }

  Result<void> add(InlineMedium medium) {
    if (medium.bytes.size() > most_bytes_) {
      return make_error(Errc::body_too_large, "A medium of `message` has " +
                                                  std::to_string(medium.bytes.size()) + " bytes; " +
                                                  std::to_string(most_bytes_) + " are allowed.");
    }
    const auto is_same = [&](const InlineMedium& one) { return one.row.id == medium.row.id; };
    const auto& media = taken_.media;
    const bool is_known = std::any_of(media.begin(), media.end(), is_same);
    if (!is_known && media.size() == most_inline_media) {
      return make_error(Errc::invalid_body, "A `message` has at most " +
                                                std::to_string(most_inline_media) +
                                                " media in its text. Upload the others.");
    }
    taken_.text += tag_of(medium);
    if (!is_known) taken_.media.push_back(std::move(medium));
    return {};
  }

  static constexpr std::size_t npos_unknown = std::string_view::npos - 1;

  std::string_view rest_;
  const MediaOrigin& origin_;
  std::uint64_t most_bytes_;
  std::size_t size_;
  std::size_t segment_at_ = npos_unknown;
  std::size_t address_at_ = npos_unknown;
  TakenMedia taken_;
};

Result<void> put_medium(store::StorageBackend& backend, const InlineMedium& medium) {
  auto known = backend.attachment(medium.row.principal, medium.row.id);
  if (!known) return known.error();
  if (known.value()) return {};
  if (auto put = backend.put_blob(medium.bytes); !put) return put.error();
  return backend.put_attachment(medium.row);
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
    bool is_broken = false;
    auto medium = read_medium(segment, origin, is_broken);
    if (!medium) {
      output.content += text.substr(0, end + 1);
    } else {
      output.content += text.substr(0, begin);
      output.content += tag_of(*medium);
      output.attachments.push(attachment_json(medium->row));
      media.push_back(std::move(*medium));
    }
    text.remove_prefix(end + 1);
  }
  output.content += text;
  return output;
}

Result<TakenMedia> take_inline_media(std::string_view text, const MediaOrigin& origin,
                                     std::uint64_t most_bytes) {
  return UserMedia(text, origin, most_bytes).take();
}

std::string without_media(std::string_view text) {
  std::string out;
  for (std::size_t begin = text.find(tag_begin); begin != std::string_view::npos;
       begin = text.find(tag_begin)) {
    const std::size_t end = text.find(tag_end, begin);
    if (end == std::string_view::npos) break;
    out += text.substr(0, begin);
    text.remove_prefix(end + tag_end.size());
  }
  out += text;
  return std::string(json::trim(out));
}

Result<void> put_media(store::StorageBackend& backend, const std::vector<InlineMedium>& media) {
  std::optional<Error> first;
  for (const InlineMedium& medium : media) {
    if (auto put = put_medium(backend, medium); !put && !first) first = put.error();
  }
  if (first) return std::move(*first);
  return {};
}

}  // namespace millrace::api
