#include "journal/compact.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

#include "journal/codec.hpp"
#include "journal/shapes.hpp"
#include "journal/wire.hpp"

namespace millrace::journal {
namespace {

constexpr char plain_version = 1;
constexpr char compact_version = 2;

void append_bytes(std::string& out, std::string_view bytes) {
  append_varint(out, bytes.size());
  out.append(bytes);
}

// A part whose deltas are joined.
struct Part {
  std::uint32_t kind = 0;
  std::uint32_t branch = 0;
  std::string_view id;
  std::string_view subagent;
};

// In the order of the shapes: part, text, then what every record has.
void append_delta(std::string& out, const Part& part, std::string_view text) {
  FieldWriter fields(out);
  fields.text(1, part.id);
  fields.text(2, text);
  fields.number(tags::branch, part.branch);
  fields.text(tags::subagent, part.subagent);
}

constexpr bool is_delta(std::uint64_t kind) {
  return kind == Shape<event::TextDelta>::kind || kind == Shape<event::ReasoningDelta>::kind ||
         kind == Shape<event::ToolArgs>::kind;
}

// The three kinds of deltas have the same members.
std::pair<std::string_view, std::string_view> delta_in(const event::Body& body) {
  if (const auto* text = std::get_if<event::TextDelta>(&body)) return {text->id, text->delta};
  if (const auto* text = std::get_if<event::ReasoningDelta>(&body)) return {text->id, text->delta};
  const auto& text = std::get<event::ToolArgs>(body);
  return {text.id, text.delta};
}

class Compactor {
 public:
  bool add(const StoredPage& page) {
    ByteReader bytes(page.bytes);
    const std::string_view version = bytes.bytes(1);
    const std::uint64_t base = bytes.varint();
    if (!bytes.ok() || version.front() != plain_version || !std::in_range<std::int64_t>(base)) {
      return false;
    }
    std::string records;
    std::uint64_t count = 0;
    std::uint64_t at_ms = base;
    for (; !bytes.at_end(); ++count) {
      const std::uint64_t kind = bytes.varint();
      const std::uint64_t passed = bytes.varint();
      const std::string_view fields = bytes.bytes(bytes.varint());
      if (!bytes.ok()) return false;
      at_ms += passed;
      add_record(records, kind, passed, fields);
    }
    if (!bytes.ok() || count == 0 || page.count < count || at_ms < base ||
        !std::in_range<std::int64_t>(at_ms)) {
      return false;
    }
    append_varint(pages_, count);
    append_varint(pages_, page.count - count);
    append_varint(pages_, zigzag(static_cast<std::int64_t>(base) - last_ms_));
    pages_ += records;
    last_ms_ = static_cast<std::int64_t>(at_ms);
    return true;
  }

  [[nodiscard]] std::string take() const {
    std::string out(1, compact_version);
    append_varint(out, parts_.size());
    for (const auto& [key, text] : parts_) {
      append_varint(out, key.kind);
      append_varint(out, key.branch);
      append_bytes(out, key.id);
      append_bytes(out, key.subagent);
      append_bytes(out, text);
    }
    return out + pages_;
  }

 private:
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::string, std::string>;

  void add_record(std::string& out, std::uint64_t kind, std::uint64_t passed,
                  std::string_view fields) {
    if (is_delta(kind) && add_delta(out, static_cast<std::uint32_t>(kind), passed, fields)) return;
    append_varint(out, 0);
    append_varint(out, kind);
    append_varint(out, passed);
    append_bytes(out, fields);
  }

  // Only what expand() would write the same way.
  bool add_delta(std::string& out, std::uint32_t kind, std::uint64_t passed,
                 std::string_view fields) {
    Record record;
    Arena arena;
    if (!read_fields(record, kind, fields, arena)) return false;
    const auto& event = std::get<event::Event>(record.body);
    const auto [id, text] = delta_in(event.body);
    const Part part{kind, record.branch, id, event.subagent};
    std::string again;
    append_delta(again, part, text);
    if (again != fields) return false;
    const auto [known, is_new] =
        places_.try_emplace(Key{kind, part.branch, id, event.subagent}, parts_.size());
    // Keys of a map stay where they are.
    const auto& [key_kind, key_branch, key_id, key_subagent] = known->first;
    if (is_new) parts_.push_back({{key_kind, key_branch, key_id, key_subagent}, {}});
    parts_[known->second].second.append(text);
    append_varint(out, known->second + 1);
    append_varint(out, passed);
    append_varint(out, text.size());
    return true;
  }

  std::map<Key, std::size_t> places_;
  std::vector<std::pair<Part, std::string>> parts_;
  std::string pages_;
  std::int64_t last_ms_ = 0;
};

class Expander {
 public:
  explicit Expander(const StoredPage& page) : page_(page), bytes_(page.bytes) {}

  Result<std::vector<StoredPage>> run() {
    const std::string_view version = bytes_.bytes(1);
    if (!bytes_.ok() || version.front() != compact_version || page_.count > page_.last ||
        !read_parts()) {
      return damaged();
    }
    std::vector<StoredPage> pages;
    std::uint64_t before = page_.last - page_.count;
    while (!bytes_.at_end()) {
      StoredPage page;
      page.last = before;
      if (!read_page(page) || page.last > page_.last) return damaged();
      before = page.last;
      pages.push_back(std::move(page));
    }
    for (const auto& [part, text] : parts_) {
      if (!text.empty()) return damaged();
    }
    if (!bytes_.ok() || before != page_.last) return damaged();
    return pages;
  }

 private:
  [[nodiscard]] Error damaged() const {
    return make_error(Errc::store_damaged, "A page of the journal that ends at record " +
                                               std::to_string(page_.last) + " cannot be expanded.");
  }

  bool read_parts() {
    const std::uint64_t count = bytes_.varint();
    for (std::uint64_t at = 0; at < count && bytes_.ok(); ++at) {
      const std::uint64_t kind = bytes_.varint();
      const std::uint64_t branch = bytes_.varint();
      const std::string_view id = bytes_.bytes(bytes_.varint());
      const std::string_view subagent = bytes_.bytes(bytes_.varint());
      const std::string_view text = bytes_.bytes(bytes_.varint());
      if (!is_delta(kind) || !std::in_range<std::uint32_t>(branch)) return false;
      const Part part{static_cast<std::uint32_t>(kind), static_cast<std::uint32_t>(branch), id,
                      subagent};
      parts_.emplace_back(part, text);
    }
    return bytes_.ok();
  }

  // `page.last` is the number before it.
  bool read_page(StoredPage& page) {
    const std::uint64_t records = bytes_.varint();
    const std::uint64_t further = bytes_.varint();
    const std::int64_t passed = unzigzag(bytes_.varint());
    constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
    if (!bytes_.ok() || records == 0 || records > page_.count || further > page_.count) {
      return false;
    }
    page.count = records + further;
    page.last += page.count;
    const std::uint64_t base = last_ms_ + static_cast<std::uint64_t>(passed);
    page.bytes.push_back(plain_version);
    append_varint(page.bytes, base);
    last_ms_ = base;
    for (std::uint64_t at = 0; at < records; ++at) {
      const std::uint64_t place = bytes_.varint();
      if (!bytes_.ok() || place > most) return false;
      if (place == 0 ? !read_plain(page.bytes) : !read_delta(page.bytes, place - 1)) return false;
    }
    return true;
  }

  bool read_plain(std::string& out) {
    const std::uint64_t kind = bytes_.varint();
    const std::uint64_t passed = bytes_.varint();
    const std::string_view fields = bytes_.bytes(bytes_.varint());
    append_record(out, kind, passed, fields);
    return bytes_.ok();
  }

  bool read_delta(std::string& out, std::uint64_t place) {
    const std::uint64_t passed = bytes_.varint();
    const std::uint64_t length = bytes_.varint();
    if (!bytes_.ok() || place >= parts_.size()) return false;
    auto& [part, text] = parts_[place];
    if (length > text.size()) return false;
    fields_.clear();
    append_delta(fields_, part, text.substr(0, length));
    text.remove_prefix(length);
    append_record(out, part.kind, passed, fields_);
    return true;
  }

  void append_record(std::string& out, std::uint64_t kind, std::uint64_t passed,
                     std::string_view fields) {
    append_varint(out, kind);
    append_varint(out, passed);
    append_bytes(out, fields);
    last_ms_ += passed;
  }

  const StoredPage& page_;
  ByteReader bytes_;
  std::vector<std::pair<Part, std::string_view>> parts_;
  std::string fields_;
  std::uint64_t last_ms_ = 0;
};

}  // namespace

bool is_compact(std::string_view page) {
  return !page.empty() && page.front() == compact_version;
}

std::optional<StoredPage> compact(std::span<const StoredPage> pages) {
  Compactor compactor;
  StoredPage made;
  std::size_t bytes = 0;
  for (const StoredPage& page : pages) {
    if (!compactor.add(page)) return std::nullopt;
    made.last = page.last;
    made.count += page.count;
    bytes += page.bytes.size();
  }
  made.bytes = compactor.take();
  const bool is_less = pages.size() > 1 || made.bytes.size() < bytes;
  if (pages.empty() || !is_less) return std::nullopt;
  // Varints and times have more than one form. What would come back in another one stays.
  const auto again = expand(made);
  const bool is_same = again.ok() && std::equal(again.value().begin(), again.value().end(),
                                                pages.begin(), pages.end());
  return is_same ? std::optional(std::move(made)) : std::nullopt;
}

Result<std::vector<StoredPage>> expand(const StoredPage& page) {
  return Expander(page).run();
}

}  // namespace millrace::journal
