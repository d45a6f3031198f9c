#include "message/answer_ends.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "format/joined_answers.hpp"

using namespace millrace;
using message::Message;
using message::Messages;
using message::Role;

namespace {

Message of(Role role, const std::string& text = {}) {
  Message made;
  made.role = role;
  made.content = message::Content::of_text(text);
  return made;
}

Message calling(const std::string& id) {
  Message made = of(Role::assistant);
  made.tool_calls.emplace_back().id = id;
  return made;
}

Message result_of(const std::string& id) {
  Message made = of(Role::tool, "r");
  made.tool_call_id = id;
  return made;
}

}  // namespace

TEST(AnswerEnds, AreInFrontOfTheResults) {
  const Messages messages{
      of(Role::user),      calling("a"),    of(Role::reasoning), of(Role::assistant, "more"),
      of(Role::reasoning), result_of("a"),  of(Role::assistant), calling("b"),
      of(Role::user),      calling("c"),    result_of("other"),  of(Role::reasoning),
      result_of("c"),      calling("last"),
  };
  const std::vector<std::size_t> ends = message::answer_ends(messages);
  for (std::size_t at = 0; at < messages.size(); ++at) {
    EXPECT_EQ(ends[at], at == 1 ? 3U : at) << at;
  }
}

// Where each message looks for its results, or each joined text is copied, this test would need
// minutes.
TEST(AnswerEnds, TakeTimeInProportionToTheMessages) {
  constexpr int count = 200'000;
  Messages open;
  Messages one{calling("a")};
  for (int at = 0; at < count; ++at) {
    open.push_back(calling("c" + std::to_string(at)));
    one.push_back(of(Role::assistant, "0123456789"));
  }
  one.push_back(result_of("a"));
  EXPECT_EQ(message::answer_ends(open).back(), open.size() - 1);
  EXPECT_EQ(format::join_answers(open)->messages.size(), open.size());
  const auto joined = format::join_answers(one);
  ASSERT_EQ(joined->messages.size(), 2U);
  EXPECT_EQ(joined->messages[0].content.text.size(), 10U * count);
}
