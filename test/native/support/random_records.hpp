// Records with random fields, and records as text, through the same list of fields as the codec's.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "journal/record.hpp"
#include "journal/shapes.hpp"

namespace millrace::test {

// Fills fields; keeps what they view.
class RandomFields {
 public:
  explicit RandomFields(std::uint32_t seed) : random_(seed) {}

  std::uint32_t draw(std::uint32_t below) {
    return std::uniform_int_distribution<std::uint32_t>(0, below - 1)(random_);
  }
  std::string_view some_text() {
    static constexpr std::string_view uuid = "550e8400-e29b-41d4-a716-446655440000";
    switch (draw(6)) {
      case 0: return {};
      case 1: return uuid;
      case 2: return texts_.emplace_back(uuid.substr(0, 35)).append("G");
      case 3: return texts_.emplace_back("\xED\xA0\x80 lone, \0 inside", 18);
      default: break;
    }
    std::string& text = texts_.emplace_back();
    for (std::uint32_t left = draw(300); left > 0; --left) {
      text.push_back(static_cast<char>(draw(256)));
    }
    return text;
  }
  std::int64_t some_number() {
    switch (draw(4)) {
      case 0: return 0;
      case 1: return static_cast<std::int64_t>(draw(200)) - 100;
      case 2: return std::numeric_limits<std::int64_t>::min() + draw(2);
      default: return std::numeric_limits<std::int64_t>::max() - draw(2);
    }
  }

  void text(std::uint32_t /*tag*/, std::string_view& value, std::string_view fallback = {}) {
    value = draw(4) == 0 ? fallback : some_text();
  }
  void number(std::uint32_t /*tag*/, std::int64_t& value, std::int64_t fallback = 0) {
    value = draw(4) == 0 ? fallback : some_number();
  }
  void number(std::uint32_t /*tag*/, std::optional<std::int64_t>& value) {
    value = draw(3) == 0 ? std::nullopt : std::optional(some_number());
  }
  void flag(std::uint32_t /*tag*/, bool& value) { value = draw(2) == 0; }
  void flag(std::uint32_t /*tag*/, std::optional<bool>& value) {
    value = draw(3) == 0 ? std::nullopt : std::optional(draw(2) == 0);
  }
  template <class Enum>
  void word(std::uint32_t /*tag*/, Enum& value, Enum last, Enum /*fallback*/) {
    value = static_cast<Enum>(draw(static_cast<std::uint32_t>(last) + 1));
  }
  void questions(std::uint32_t /*tag*/, std::span<const event::Question>& values) {
    auto& list = questions_.emplace_back(draw(3));
    for (event::Question& question : list) question = {some_text(), some_text(), some_text()};
    values = list;
  }

 private:
  std::mt19937 random_;
  std::deque<std::string> texts_;
  std::deque<std::vector<event::Question>> questions_;
};

// Every field as text, for comparisons and failures of tests.
class FieldText {
 public:
  std::string out;

  void text(std::uint32_t tag, std::string_view value, std::string_view /*fallback*/ = {}) {
    out +=
        std::to_string(tag) + "=" + std::to_string(value.size()) + ":" + std::string(value) + ";";
  }
  void number(std::uint32_t tag, std::int64_t value, std::int64_t /*fallback*/ = 0) {
    text(tag, std::to_string(value));
  }
  void number(std::uint32_t tag, const std::optional<std::int64_t>& value) {
    text(tag, value ? std::to_string(*value) : "none");
  }
  void flag(std::uint32_t tag, bool value) { text(tag, value ? "true" : "false"); }
  void flag(std::uint32_t tag, const std::optional<bool>& value) {
    text(tag, value ? (*value ? "true" : "false") : "none");
  }
  template <class Enum>
  void word(std::uint32_t tag, Enum value, Enum /*last*/, Enum /*fallback*/) {
    number(tag, static_cast<std::int64_t>(value));
  }
  void questions(std::uint32_t tag, std::span<const event::Question> values) {
    for (const event::Question& question : values) {
      text(tag, question.id);
      text(tag, question.message);
      text(tag, question.json);
    }
  }
};

inline std::string text_of(const journal::Record& record) {
  FieldText fields;
  const auto write = [&](const auto& body) {
    using Body = std::decay_t<decltype(body)>;
    if constexpr (std::is_same_v<Body, journal::UnknownFact>) {
      fields.number(0, body.kind);
      fields.text(1, body.fields);
    } else {
      fields.number(0, journal::Shape<Body>::kind);
      journal::Shape<Body>::each(fields, body);
    }
  };
  if (const auto* fact = std::get_if<journal::Fact>(&record.body)) {
    std::visit(write, *fact);
  } else {
    const auto& event = std::get<event::Event>(record.body);
    std::visit(write, event.body);
    fields.text(100, event.extra);
    fields.text(101, event.subagent);
  }
  fields.number(102, record.branch);
  fields.number(103, record.span);
  return std::move(fields.out);
}

// A random record of the alternative `at` of facts (UnknownFact excepted) and then events.
inline constexpr std::size_t fact_kinds = std::variant_size_v<journal::Fact> - 1;
inline constexpr std::size_t record_kinds = fact_kinds + std::variant_size_v<event::Body>;

namespace detail {
template <class Variant, std::size_t at = 0>
Variant random_alternative(std::size_t wanted, RandomFields& random) {
  if constexpr (at < std::variant_size_v<Variant>) {
    using Body = std::variant_alternative_t<at, Variant>;
    if constexpr (!std::is_same_v<Body, journal::UnknownFact>) {
      if (wanted == at) {
        Body body;
        journal::Shape<Body>::each(random, body);
        return Variant(body);
      }
    }
    return random_alternative<Variant, at + 1>(wanted, random);
  } else {
    return Variant();
  }
}
}  // namespace detail

inline journal::Record random_record(std::size_t at, RandomFields& random) {
  journal::Record record;
  record.branch = random.draw(3) == 0 ? random.draw(1000) : 0;
  if (at < fact_kinds) {
    record.span = random.draw(5) == 0 ? 1 + random.draw(5000) : 1;
    record.body = detail::random_alternative<journal::Fact>(at, random);
  } else {
    event::Event event{detail::random_alternative<event::Body>(at - fact_kinds, random), {}, {}};
    if (random.draw(2) == 0) event.extra = random.some_text();
    if (random.draw(2) == 0) event.subagent = random.some_text();
    record.body = event;
  }
  return record;
}

}  // namespace millrace::test
