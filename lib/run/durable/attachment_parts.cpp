#include "run/durable/attachment_parts.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "base/base64.hpp"
#include "base/utf8.hpp"

namespace millrace::run {
namespace {

using json::Tree;
using Items = Tree::Items;

// Units: bytes.
constexpr std::int64_t most_together = std::int64_t{8} << 20U;
constexpr std::int64_t most_media = std::int64_t{5} << 20U;
constexpr std::int64_t most_text = std::int64_t{128} << 10U;

struct Signature {
  std::string_view media;
  std::string_view type;  // of the part
  std::string_view begin;
  std::string_view later = {};  // what is eight bytes behind the begin
};

// A name is not enough: a provider rejects an image that is none.
constexpr std::array signatures{
    Signature{"image/png", "image", "\x89PNG\r\n"},
    Signature{"image/jpeg", "image", "\xFF\xD8\xFF"},
    Signature{"image/gif", "image", "GIF8"},
    Signature{"image/webp", "image", "RIFF", "WEBP"},
    Signature{"application/pdf", "document", "%PDF-"},
};

const Signature* signature_of(std::string_view bytes) {
  constexpr std::size_t later_at = 8;
  const auto* found = std::find_if(signatures.begin(), signatures.end(), [&](const Signature& row) {
    if (!bytes.starts_with(row.begin)) return false;
    return row.later.empty() ||
           (bytes.size() > later_at && bytes.substr(later_at).starts_with(row.later));
  });
  return found == signatures.end() ? nullptr : found;
}

bool is_text_media(std::string_view media) {
  constexpr std::array<std::string_view, 5> others{"application/json", "application/xml",
                                                   "application/yaml", "application/toml",
                                                   "application/x-ndjson"};
  return media.starts_with("text/") ||
         std::find(others.begin(), others.end(), media) != others.end();
}

void append_attribute(std::string& out, std::string_view name, std::string_view value) {
  out.append(" ").append(name).append("=\"");
  for (const char c : value) {
    switch (c) {
      case '"': out.append("&quot;"); break;
      case '&': out.append("&amp;"); break;
      case '<': out.append("&lt;"); break;
      case '>': out.append("&gt;"); break;
      default: out.push_back(c);
    }
  }
  out.push_back('"');
}

// `<attachment uid="..." name="..." type="...">`, without its end.
std::string opening_of(const Tree& reference) {
  std::string tag = "<attachment";
  append_attribute(tag, "uid", reference["uid"].string());
  append_attribute(tag, "name", reference["display_name"].string());
  append_attribute(tag, "type", reference["media_type"].string());
  return tag;
}

Tree text_part(std::string text) {
  Tree part = Tree::object();
  part.set("type", "text");
  part.set("text", std::move(text));
  return part;
}

bool is_stored(const Tree& reference) {
  return reference["source_kind"].string() == stored_attachment;
}

// Those of a message of the user; null where it has none.
const Tree* references_of(const Tree& message) {
  const Tree& given = message["attachments"];
  if (message["role"].string() != "user" || !given.is_array()) return nullptr;
  const auto& items = given.items();
  return std::any_of(items.begin(), items.end(), is_stored) ? &given : nullptr;
}

class Attacher {
 public:
  Attacher(store::StorageBackend& backend, const std::string& principal)
      : backend_(backend), principal_(principal) {}

  // Shape: a content that is a string or parts.
  void add(Tree& message, const Tree& attachments) {
    std::string names;
    Items media;
    for (const Tree& reference : attachments.items()) {
      if (!is_stored(reference)) continue;
      names.append(names.empty() ? "" : "\n").append(named(reference, media));
    }
    if (names.empty()) return;
    const Tree content = message["content"];
    if (media.empty() && content.is_string()) {
      std::string text(content.string());
      message.set("content", text.append(text.empty() ? "" : "\n\n").append(names));
      return;
    }
    Tree parts = content.is_array() ? content : Tree::array();
    if (content.is_string() && !content.string().empty()) {
      parts.push(text_part(std::string(content.string())));
    }
    parts.push(text_part(std::move(names)));
    for (Tree& part : media) parts.push(std::move(part));
    message.set("content", std::move(parts));
  }

 private:
  // What the text has of an attachment; what is content of its own goes into `media`.
  std::string named(const Tree& reference, Items& media) {
    std::string tag = opening_of(reference);
    const std::string_view type = reference["media_type"].string();
    const bool is_text = is_text_media(type);
    std::string_view fault;
    auto bytes = bytes_of(reference, is_text ? most_text : most_media, fault);
    if (!fault.empty()) append_attribute(tag, "error", fault);
    if (!bytes) return tag + "/>";
    const Signature* signature = signature_of(*bytes);
    if (signature != nullptr) {
      left_ -= static_cast<std::int64_t>(bytes->size());
      media.push_back(part_of(*signature, reference, *bytes));
      return tag + "/>";
    }
    const bool is_plain =
        is_text && utf8::is_valid(*bytes) && bytes->find('\0') == std::string::npos;
    if (!is_plain) return tag + "/>";
    left_ -= static_cast<std::int64_t>(bytes->size());
    return tag + ">\n" + *bytes + "\n</attachment>";
  }

  static Tree part_of(const Signature& signature, const Tree& reference, std::string_view bytes) {
    Tree part = Tree::object();
    part.set("type", signature.type);
    Tree& source = part.set("source", Tree::object());
    source.set("type", "data");
    source.set("value", base64::encode(bytes));
    source.set("mimeType", signature.media);
    if (signature.type == "document") {
      part.set("metadata", Tree::object()).set("filename", reference["display_name"].string());
    }
    return part;
  }

  // `fault` is why they are not those that were attached.
  std::optional<std::string> bytes_of(const Tree& reference, std::int64_t most,
                                      std::string_view& fault) {
    auto row = backend_.attachment(principal_, reference["uid"].string());
    if (!row) return std::nullopt;
    if (!row.value()) {
      fault = "attachment_not_found";
      return std::nullopt;
    }
    // Earlier versions stored no hash.
    const std::string_view hash = reference["sha256"].string();
    if (!hash.empty() && hash != row.value()->hash) {
      fault = "attachment_changed";
      return std::nullopt;
    }
    if (row.value()->size > std::min(most, left_)) return std::nullopt;
    auto bytes = backend_.blob(row.value()->hash);
    if (!bytes || !bytes.value()) return std::nullopt;
    return std::move(*bytes.value());
  }

  store::StorageBackend& backend_;
  const std::string& principal_;
  std::int64_t left_ = most_together;
};

}  // namespace

bool has_attachments(const Tree& messages) {
  const auto& items = messages.items();
  return std::any_of(items.begin(), items.end(),
                     [](const Tree& message) { return references_of(message) != nullptr; });
}

void add_attachments(store::StorageBackend& backend, const std::string& principal, Tree& messages) {
  Attacher attacher(backend, principal);
  auto& items = messages.items();
  for (auto at = items.rbegin(); at != items.rend(); ++at) {
    if (references_of(*at) == nullptr) continue;
    const Tree references = (*at)["attachments"];
    at->erase("attachments");
    attacher.add(*at, references);
  }
}

}  // namespace millrace::run
