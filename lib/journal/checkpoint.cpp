#include "journal/checkpoint.hpp"

#include <algorithm>
#include <cstddef>

#include "base/json.hpp"

// Shape: {"v":value} replaces the value; {"m":{name:delta,...},"x":[name,...]} changes and removes
// members of an object; {"n":size,"i":[[index,delta],...]} cuts an array to `size` elements or
// lengthens it, and changes elements.
namespace millrace::journal {
namespace {

constexpr std::size_t most_levels = 6;  // below it a changed value is written whole

void write_delta(std::string& out, const json::Tree& before, const json::Tree& after,
                 std::size_t level);

void write_whole(std::string& out, const json::Tree& value) {
  out += R"({"v":)";
  value.write(out, json::Surrogates::keep);
  out += '}';
}

void write_members(std::string& out, const json::Tree& before, const json::Tree& after,
                   std::size_t level) {
  out += R"({"m":{)";
  for (const auto& [key, value] : after.members()) {
    const json::Tree* old = before.find(key.view());
    if (old != nullptr && (old->is_same(value) || *old == value)) continue;
    if (out.back() != '{') out += ',';
    json::append_string(out, key.view(), json::Surrogates::keep);
    out += ':';
    if (old != nullptr) {
      write_delta(out, *old, value, level + 1);
    } else {
      write_whole(out, value);
    }
  }
  out += R"(},"x":[)";
  for (const auto& [key, value] : before.members()) {
    if (after.find(key.view()) != nullptr) continue;
    if (out.back() != '[') out += ',';
    json::append_string(out, key.view(), json::Surrogates::keep);
  }
  out += "]}";
}

void write_elements(std::string& out, const json::Tree& before, const json::Tree& after,
                    std::size_t level) {
  const auto& old = before.items();
  const auto& now = after.items();
  out += R"({"n":)" + std::to_string(now.size()) + R"(,"i":[)";
  for (std::size_t at = 0; at < now.size(); ++at) {
    if (at < old.size() && (old[at].is_same(now[at]) || old[at] == now[at])) continue;
    if (out.back() != '[') out += ',';
    out += '[' + std::to_string(at) + ',';
    if (at < old.size()) {
      write_delta(out, old[at], now[at], level + 1);
    } else {
      write_whole(out, now[at]);
    }
    out += ']';
  }
  out += "]}";
}

void write_delta(std::string& out, const json::Tree& before, const json::Tree& after,
                 std::size_t level) {
  if (level < most_levels && before.is_object() && after.is_object()) {
    write_members(out, before, after, level);
  } else if (level < most_levels && before.is_array() && after.is_array()) {
    write_elements(out, before, after, level);
  } else {
    write_whole(out, after);
  }
}

bool apply_change(json::Tree& state, const json::Value& delta, std::size_t level);

bool apply_members(json::Tree& state, const json::Value& delta, std::size_t level) {
  if (!state.is_object()) return false;
  for (const auto [key, change] : delta["m"].members()) {
    json::Tree* old = state.find(key);
    if (old == nullptr && !change["v"].exists()) return false;
    if (!apply_change(old != nullptr ? *old : state.set(key, json::Tree()), change, level + 1)) {
      return false;
    }
  }
  for (const json::Value name : delta["x"].items()) state.erase(name.string());
  return true;
}

bool apply_elements(json::Tree& state, const json::Value& delta, std::size_t level) {
  const auto size = delta["n"].integer();
  if (!state.is_array() || !size || *size < 0) return false;
  auto& items = state.items();
  const auto wanted = static_cast<std::size_t>(*size);
  if (wanted > items.size() + delta["i"].size()) return false;
  items.resize(wanted);
  for (const json::Value change : delta["i"].items()) {
    std::optional<std::int64_t> at;
    json::Value inner;
    for (const json::Value part : change.items()) {
      if (at) {
        inner = part;
      } else {
        at = part.integer();
        if (!at) return false;
      }
    }
    if (!at || *at < 0 || static_cast<std::size_t>(*at) >= wanted) return false;
    if (!apply_change(items[static_cast<std::size_t>(*at)], inner, level + 1)) return false;
  }
  return true;
}

bool apply_change(json::Tree& state, const json::Value& delta, std::size_t level) {
  if (!delta.is_object() || level > most_levels) return false;
  if (const json::Value whole = delta["v"]; whole.exists()) {
    state = json::Tree(whole);
    return true;
  }
  return delta["m"].exists() ? apply_members(state, delta, level)
                             : apply_elements(state, delta, level);
}

}  // namespace

std::string checkpoint_delta(const json::Tree& before, const json::Tree& after) {
  std::string out;
  if (before.is_same(after) || before == after) return out;
  write_delta(out, before, after, 0);
  return out;
}

Result<void> apply_checkpoint(json::Tree& state, std::string_view delta) {
  if (delta.empty()) return {};
  // A state may nest as deep as JSON may at all; the delta adds levels of its own.
  json::Document document(json::Document::default_depth_limit * 2);
  auto parsed = document.parse(delta);
  if (!parsed || !apply_change(state, parsed.value(), 0)) {
    return make_error(Errc::store_damaged, "A checkpoint does not fit the one before it.");
  }
  return {};
}

}  // namespace millrace::journal
