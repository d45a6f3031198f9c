// Changes to the messages that a conversation has.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_tree.hpp"
#include "store/types.hpp"

namespace millrace::api {

using MessageRows = std::vector<store::MessageRow>;

// The rows of one item of the history: a question, or all that an answer consists of.
struct MessageSpan {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// An object without members for a row that cannot be read.
json::Tree message_of(const store::MessageRow& row);
bool is_question(const store::MessageRow& row);

struct NewText {
  std::string_view text;
  // References of the media that it has; those of the message stay.
  const json::Tree& attachments;
};

// The text of an answer of several parts becomes that of its last one.
void put_text(MessageRows& rows, const MessageSpan& span, const NewText& given);

using RunNames = std::set<std::string, std::less<>>;

// The runs that have messages of this role among these rows.
RunNames runs_of(const MessageRows& rows, const MessageSpan& span, std::string_view role);

// The history shows what the run of a question did where its answer is missing. What was removed is
// not shown: of each of the runs, the questions before `end` that have no answer before it leave
// the run. Where the runs go on, what they have answered to these leaves it as well, since the rest
// is not for these rows.
void leave_runs(MessageRows& rows, std::size_t end, const RunNames& runs, bool go_on = false);

// The rows before `end` become those of another conversation, in which nothing is shown of what
// followed there, nor of what runs at work will do.
void branch_off(MessageRows& rows, std::size_t end, RunNames at_work);

// What removes everything behind a question, which gets the text unless that is "". `rows` are
// those of the conversation, and become what is left of them.
store::ThreadUpdate cut_behind(MessageRows& rows, std::size_t question, const NewText& given);

}  // namespace millrace::api
