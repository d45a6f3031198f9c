// The arguments of a Gemini call that come value by value, each with the path where it belongs.
// Source: Vertex AI API reference, "FunctionCall.partialArgs" (2026).
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.hpp"

namespace millrace::adapter {

// Puts `{ jsonPath, stringValue | numberValue | boolValue | nullValue }` together; the pieces of a
// string are joined.
class GeminiArguments {
 public:
  // False when the path is not one of members and indexes, or does not fit what came before.
  bool add(const json::Value& piece);
  [[nodiscard]] bool empty() const { return bytes_ == 0; }
  // Units: bytes that the values and their places take, roughly.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  // The arguments as a JSON object; begins anew.
  std::string take();

 private:
  enum class Kind : unsigned char { none, object, array, text, other };
  struct Node {
    Kind kind = Kind::none;
    std::string text;  // a string, or JSON text of a number, a boolean or null
    std::string name;  // of a member
    std::vector<Node> members;
    std::map<std::string, std::size_t, std::less<>> places;  // of members by name, where many are
    std::vector<Node> items;
  };
  struct Step {
    std::string_view name;  // a member, or "" for an item
    std::size_t index = 0;
  };
  bool read_path(std::string_view path);
  Node* find(std::string_view path);
  Node* child(Node& node, const Step& step);
  Node& member(Node& node, std::string_view name);
  static bool set(Node& node, const json::Value& piece);
  static void write(std::string& out, const Node& node);

  Node root_;
  std::vector<Step> steps_;  // of the path that is read
  // Pieces of a string come one behind the other.
  std::string found_path_;
  Node* found_ = nullptr;  // the node of this path, until the next one is found
  std::size_t bytes_ = 0;
};

}  // namespace millrace::adapter
