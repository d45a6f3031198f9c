// What our own record of some messages has of providers: state, blocks of parts and citations.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>

#include "base/json_tree.hpp"
#include "message/message.hpp"

namespace millrace::message {

// Whether a content part names a file that is stored at a provider.
bool names_file(const json::Tree& part);

// Read once, on the first question: a request may ask about each of its states.
// Lifetime: the messages outlive it.
class KnownStates {
 public:
  explicit KnownStates(const Messages& messages) : messages_(messages) {}

  [[nodiscard]] bool has(const ProviderState& state);
  [[nodiscard]] bool has_citation(std::string_view citation);
  // An entry of `metadata.millrace.providerState` of a content part, whatever the order of its
  // members.
  [[nodiscard]] bool has_block(const json::Tree& entry);
  // A content part that names a stored file.
  [[nodiscard]] bool has_part(const json::Tree& part);

 private:
  void read();
  void read_metadata(const Metadata& metadata);
  void read_parts(const Content& content);

  const Messages& messages_;
  bool is_read_ = false;
  std::unordered_set<std::string> states_;
  std::unordered_set<std::string> citations_;
  std::unordered_set<std::string> blocks_;
  std::unordered_set<std::string> parts_;
};

}  // namespace millrace::message
