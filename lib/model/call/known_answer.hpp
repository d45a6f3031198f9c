// How another process goes on with an answer that its provider makes in the background: what it is
// given of it, and what a call reports for that on the way.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.hpp"

namespace millrace::model {

// What came since the last report.
struct AnswerProgress {
  std::string_view id;                 // of the answer
  std::optional<std::int64_t> number;  // the provider's, of the last record that was read
  std::string records;                 // what KnownAnswer has, without what was reported before
  bool begins = false;                 // what was reported before is of another reading
};

// An answer that an earlier process asked for.
struct KnownAnswer {
  std::string id;           // "": there is none
  std::int64_t number = 0;  // of the last record that was read
  // What was read, for whom who goes on behind it: lines of JSON, objects as
  // adapter::Decoder::take_notes gives them and ids as texts. "": the answer is read from its
  // beginning.
  std::string records = {};
  // journal::AnswerTrace of what readers have of it.
  std::string trace = {};
  // Whether the events of `records` are those that readers have, once they have come again;
  // without it they are.
  std::function<bool()> fits = {};
  // Takes back what readers have of the answer: it comes from its beginning, or another one does.
  std::function<void()> take_back = {};
};

// The ids that an answer is given beside its provider's, so that they can be given again.
// Thread: any, one at a time.
// Lifetime: `ids` outlives it.
class NotedIds final : public IdSource {
 public:
  explicit NotedIds(IdSource& ids) : ids_(ids) {}
  std::string next_id() override;

  // The ids since the last call.
  // Shape: texts of JSON, each behind it a line feed.
  std::string take();
  // Gives the ids in the records of a known answer again. What is left are the other lines.
  std::string give_again(std::string_view records);
  // What was not given again does not come.
  void end_again() { again_.clear(); }

 private:
  IdSource& ids_;
  std::string noted_;
  std::string again_;  // ids, each behind it a line feed
};

}  // namespace millrace::model
