#include "adapter/gemini_arguments.hpp"

#include <algorithm>
#include <charconv>

#include "base/bytes.hpp"

namespace millrace::adapter {
namespace {

constexpr std::size_t depth_limit = 64;
constexpr std::size_t gap_limit = 1024;  // items that a path may leave out
constexpr std::size_t node_bytes = 64;
constexpr std::size_t indexed_members = 32;  // from these on they are found by an index

}  // namespace

// Reads `$.a.b[0]['c']`.
bool GeminiArguments::read_path(std::string_view path) {
  steps_.clear();
  if (!path.starts_with('$')) return false;
  path.remove_prefix(1);
  while (!path.empty()) {
    if (steps_.size() == depth_limit) return false;
    if (path.front() == '.') {
      path.remove_prefix(1);
      const std::size_t end = std::min(path.find_first_of(".["), path.size());
      if (end == 0) return false;
      steps_.push_back({path.substr(0, end)});
      path.remove_prefix(end);
      continue;
    }
    const bool quoted = path.starts_with("['") || path.starts_with("[\"");
    if (path.front() != '[' || path.size() < 3) return false;
    const std::size_t from = quoted ? 2 : 1;
    const std::size_t end = quoted ? path.find(path[1], from) : path.find(']', from);
    if (end == std::string_view::npos || end == from) return false;
    const std::string_view word = path.substr(from, end - from);
    path.remove_prefix(quoted ? end + 1 : end);
    if (!path.starts_with(']')) return false;
    path.remove_prefix(1);
    Step step;
    if (quoted) {
      step.name = word;
    } else {
      const auto [last, error] =
          std::from_chars(word.data(), word.data() + word.size(), step.index);
      if (error != std::errc() || last != word.data() + word.size()) return false;
    }
    steps_.push_back(step);
  }
  return !steps_.empty();
}

GeminiArguments::Node* GeminiArguments::child(Node& node, const Step& step) {
  const Kind wanted = step.name.empty() ? Kind::array : Kind::object;
  if (node.kind == Kind::none) node.kind = wanted;
  if (node.kind != wanted) return nullptr;
  if (wanted == Kind::array) {
    if (step.index >= node.items.size() + gap_limit) return nullptr;
    if (step.index >= node.items.size()) {
      bytes_ += node_bytes * (step.index + 1 - node.items.size());
      node.items.resize(step.index + 1);
    }
    return &node.items[step.index];
  }
  return &member(node, step.name);
}

GeminiArguments::Node& GeminiArguments::member(Node& node, std::string_view name) {
  std::vector<Node>& members = node.members;
  if (members.size() < indexed_members) {
    const auto found = std::find_if(members.begin(), members.end(),
                                    [&](const Node& one) { return one.name == name; });
    if (found != members.end()) return *found;
  } else {
    if (node.places.empty()) {
      for (std::size_t at = 0; at < members.size(); ++at) node.places.emplace(members[at].name, at);
    }
    const auto [place, is_new] = node.places.try_emplace(std::string(name), members.size());
    if (!is_new) return members[place->second];
    bytes_ += node_bytes + name.size();
  }
  bytes_ += node_bytes + name.size();
  Node& added = members.emplace_back();
  added.name = name;
  return added;
}

GeminiArguments::Node* GeminiArguments::find(std::string_view path) {
  if (found_ != nullptr && same_text(path, found_path_)) return found_;
  found_ = nullptr;
  if (!read_path(path)) return nullptr;
  Node* node = &root_;
  root_.kind = Kind::object;
  for (const Step& step : steps_) {
    node = child(*node, step);
    if (node == nullptr) return nullptr;
  }
  found_path_ = path;
  return found_ = node;
}

bool GeminiArguments::set(Node& node, const json::Value& piece) {
  if (node.kind == Kind::object || node.kind == Kind::array) return false;
  if (const json::Value text = piece["stringValue"]; text.is_string()) {
    if (node.kind != Kind::text) node.text.clear();
    node.kind = Kind::text;
    node.text.append(text.string());
    return true;
  }
  for (const std::string_view key : {"numberValue", "boolValue", "nullValue"}) {
    const json::Value value = piece[key];
    if (!value.exists()) continue;
    node.kind = Kind::other;
    // null is written as "NULL_VALUE", too.
    node.text = key == "nullValue" ? "null" : value.to_json();
    return true;
  }
  return true;
}

bool GeminiArguments::add(const json::Value& piece) {
  Node* node = find(piece["jsonPath"].string());
  if (node == nullptr) return false;
  const std::size_t before = node->text.size();
  if (!set(*node, piece)) return false;
  bytes_ += node->text.size() > before ? node->text.size() - before : 0;
  return true;
}

void GeminiArguments::write(std::string& out, const Node& node) {
  switch (node.kind) {
    case Kind::none: out.append("null"); break;
    case Kind::text: json::append_string(out, node.text, json::Surrogates::keep); break;
    case Kind::other: out.append(node.text); break;
    case Kind::array:
      out.push_back('[');
      for (const Node& item : node.items) {
        if (&item != &node.items.front()) out.push_back(',');
        write(out, item);
      }
      out.push_back(']');
      break;
    case Kind::object:
      out.push_back('{');
      for (const Node& member : node.members) {
        if (out.back() != '{') out.push_back(',');
        json::append_string(out, member.name, json::Surrogates::keep);
        out.push_back(':');
        write(out, member);
      }
      out.push_back('}');
      break;
  }
}

std::string GeminiArguments::take() {
  std::string out;
  root_.kind = Kind::object;
  write(out, root_);
  root_ = {};
  found_ = nullptr;
  bytes_ = 0;
  return out;
}

}  // namespace millrace::adapter
