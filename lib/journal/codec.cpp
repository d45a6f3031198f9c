#include "journal/codec.hpp"

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "journal/shapes.hpp"

namespace millrace::journal {
namespace {

template <class T>
constexpr bool is_unknown = std::is_same_v<std::remove_cv_t<T>, UnknownFact>;

template <class Visitor>
void with_body(const Record& record, const Visitor& visit) {
  if (const auto* fact = std::get_if<Fact>(&record.body)) {
    std::visit(visit, *fact);
  } else {
    std::visit(visit, std::get<event::Event>(record.body).body);
  }
}

struct FieldTarget {
  Record& record;
  FieldReader& fields;
};
using ReadBody = void (*)(const FieldTarget& target);

template <class T>
void read_fact(const FieldTarget& target) {
  T fact;
  Shape<T>::each(target.fields, fact);
  target.record.body = Fact(std::move(fact));
}

template <class T>
void read_event(const FieldTarget& target) {
  T body;
  Shape<T>::each(target.fields, body);
  target.record.body = event::Event{event::Body(std::move(body)), {}, {}};
}

constexpr std::size_t most_kinds = 128;
struct Readers {
  std::array<ReadBody, most_kinds> read{};
  // Which entries there are; comparing functions is no constant under UndefinedBehaviorSanitizer.
  std::array<bool, most_kinds> has{};
};

template <class T>
constexpr void enter(Readers& readers, ReadBody reader) {
  static_assert(Shape<T>::kind < most_kinds);
  readers.read[Shape<T>::kind] = reader;
  readers.has[Shape<T>::kind] = true;
}

template <std::size_t... at>
constexpr void enter_facts(Readers& readers, std::index_sequence<at...> /*which*/) {
  const auto one = [&]<class T>(std::type_identity<T>) {
    if constexpr (!is_unknown<T>) enter<T>(readers, &read_fact<T>);
  };
  (one(std::type_identity<std::variant_alternative_t<at, Fact>>{}), ...);
}

template <std::size_t... at>
constexpr void enter_events(Readers& readers, std::index_sequence<at...> /*which*/) {
  (enter<std::variant_alternative_t<at, event::Body>>(
       readers, &read_event<std::variant_alternative_t<at, event::Body>>),
   ...);
}

constexpr Readers all_readers() {
  Readers readers{};
  enter_facts(readers, std::make_index_sequence<std::variant_size_v<Fact>>());
  enter_events(readers, std::make_index_sequence<std::variant_size_v<event::Body>>());
  return readers;
}

constexpr Readers body_readers = all_readers();

constexpr std::size_t count_of_readers() {
  std::size_t count = 0;
  for (const bool is_there : body_readers.has) count += is_there ? 1 : 0;
  return count;
}
// Two kinds with one number would share an entry.
static_assert(count_of_readers() ==
              std::variant_size_v<Fact> - 1 + std::variant_size_v<event::Body>);

}  // namespace

std::uint32_t kind_of(const Record& record) {
  std::uint32_t kind = 0;
  with_body(record, [&](const auto& body) {
    using Body = std::decay_t<decltype(body)>;
    if constexpr (is_unknown<Body>) {
      kind = body.kind;
    } else {
      kind = Shape<Body>::kind;
    }
  });
  return kind;
}

void append_fields(std::string& out, const Record& record) {
  FieldWriter fields(out);
  bool is_whole = false;
  with_body(record, [&](const auto& body) {
    using Body = std::decay_t<decltype(body)>;
    if constexpr (is_unknown<Body>) {
      out.append(body.fields);
      is_whole = true;
    } else {
      Shape<Body>::each(fields, body);
    }
  });
  if (is_whole) return;
  fields.number(tags::branch, record.branch);
  fields.number(tags::span, record.span, 1);
  if (const auto* event = std::get_if<event::Event>(&record.body)) {
    fields.text(tags::subagent, event->subagent);
    fields.text(tags::extra, event->extra);
  }
}

Result<void> read_fields(Record& record, std::uint32_t kind, std::string_view bytes, Arena& arena) {
  FieldReader fields(bytes, arena);
  const ReadBody read = kind < most_kinds ? body_readers.read[kind] : nullptr;
  if (read != nullptr) {
    read({record, fields});
  } else {
    record.body = Fact(UnknownFact{kind, bytes});
  }
  std::int64_t branch = 0;
  std::int64_t span = 1;
  fields.number(tags::branch, branch);
  fields.number(tags::span, span, 1);
  if (auto* event = std::get_if<event::Event>(&record.body)) {
    fields.text(tags::subagent, event->subagent);
    fields.text(tags::extra, event->extra);
  }
  const bool fits = std::in_range<std::uint32_t>(branch) && std::in_range<std::uint32_t>(span);
  if (!fields.finish() || !fits || span < 1) {
    return make_error(Errc::store_damaged,
                      "A record of kind " + std::to_string(kind) + " cannot be read.");
  }
  record.branch = static_cast<std::uint32_t>(branch);
  record.span = static_cast<std::uint32_t>(span);
  return {};
}

}  // namespace millrace::journal
