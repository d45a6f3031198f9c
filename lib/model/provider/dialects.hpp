// The dialects of chat APIs as data: where a chat goes, which wire answers, how its body is built.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "message/shared_messages.hpp"
#include "model/payload/payload.hpp"
#include "model/payload/request.hpp"
#include "model/provider/config.hpp"
#include "model/provider/families.hpp"

namespace millrace::model {

// The messages that a body is built from: read in place, copied when they must be changed.
// Lifetime: of the list that it was made of.
class DraftMessages {
 public:
  using List = std::span<const message::Message>;

  DraftMessages(message::SharedMessages& list) : shared_(&list) {}
  DraftMessages(message::Messages& list) : own_(&list) {}

  [[nodiscard]] List list() const {
    const List all = shared_ != nullptr ? List(shared_->list()) : List(*own_);
    return all.first(all.size() - left_out_);
  }
  [[nodiscard]] auto begin() const { return list().begin(); }
  [[nodiscard]] auto end() const { return list().end(); }
  [[nodiscard]] auto rbegin() const { return list().rbegin(); }
  [[nodiscard]] auto rend() const { return list().rend(); }
  [[nodiscard]] std::size_t size() const { return list().size(); }
  [[nodiscard]] bool empty() const { return list().empty(); }
  [[nodiscard]] const message::Message& back() const { return list().back(); }
  const message::Message& operator[](std::size_t at) const { return list()[at]; }

  // A message, to change it. What was read of the list before is gone.
  [[nodiscard]] message::Message& edit(std::size_t at) const {
    return shared_ != nullptr ? shared_->edit()[at] : (*own_)[at];
  }
  void leave_out_last() { ++left_out_; }

 private:
  message::SharedMessages* shared_ = nullptr;
  message::Messages* own_ = nullptr;
  std::size_t left_out_ = 0;
};

// What a body is built from.
// Lifetime: everything outlives the call that builds.
struct Draft {
  const ProviderConfig& config;
  const ChatPayload& payload;
  DraftMessages messages;  // repaired, without foreign state
  std::string_view model;  // as it is sent
  Traits traits;
  bool streamed;
  std::vector<Note>& notes;
  bool is_fallback = false;  // not the first provider of its chain

  // Whether the server has the quirk, and it concerns this model.
  [[nodiscard]] bool has(Quirk quirk) const { return applies(config.quirks, quirk, model); }
  [[nodiscard]] bool is(Trait trait) const { return traits.has(trait); }
  void note(std::string_view what, std::string_view sentence) const {
    notes.push_back({std::string(what), std::string(sentence), false});
  }
};

struct DialectRow {
  Dialect dialect;
  std::string_view name;
  std::string_view wire;         // row of adapter/wires that reads the streamed answer
  std::string_view stream_path;  // behind the base URL (address.hpp)
  std::string_view whole_path;   // of an answer in one piece
  std::string_view headers;      // "Name: value", one a line
  std::string_view accept;       // of a streamed answer
  std::string_view tails;        // what users write at the end of a base URL and is cut, by commas
  Result<std::string> (*body)(const Draft& draft);
};

std::span<const DialectRow> dialects();
const DialectRow& row_of(Dialect dialect);

}  // namespace millrace::model
