// Records of a graph with very many calls: what a server sends costs work that grows with its size.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "adapter/answer_facts.hpp"
#include "adapter/decoder.hpp"
#include "adapter/member_set.hpp"
#include "support/collect.hpp"

namespace millrace {
namespace {

constexpr std::size_t many_calls = 100'000;

// `many_calls` elements, "$" in each stands for its number.
std::string listed(std::string_view pattern) {
  std::string out = "[";
  for (std::size_t at = 0; at < many_calls; ++at) {
    if (at > 0) out.push_back(',');
    for (const char c : pattern) {
      if (c == '$') {
        out.append(std::to_string(at));
      } else {
        out.push_back(c);
      }
    }
  }
  return out + "]";
}

// The events of one message; "@" in `members` stands for the calls.
std::string events_of(std::string_view event, std::string members, std::string_view call,
                      std::string_view invalid) {
  members.replace(members.find('@'), 1, listed(call));
  if (!invalid.empty()) members.append(R"(,"invalid_tool_calls":)").append(listed(invalid));
  const std::string body = "event: " + std::string(event) +
                           "\ndata: [{\"type\":\"ai\",\"id\":\"m\"," + members + "},{}]\n\n";
  CountingIds ids("id-");
  test::Collector events;
  adapter::DecoderOptions options;
  options.details = true;
  options.calls_side_by_side = true;
  adapter::Decoder decoder(*adapter::find_wire("langgraph"), options, ids, events);
  EXPECT_TRUE(decoder.feed(body).ok());
  EXPECT_TRUE(decoder.finish().ok());
  return events.text();
}

std::size_t pieces_in(std::string_view text, std::string_view piece) {
  std::size_t count = 0;
  for (std::size_t at = text.find(piece); at != text.npos; at = text.find(piece, at + 1)) ++count;
  return count;
}

constexpr std::string_view started_call = R"("type":"TOOL_CALL_START")";
constexpr std::string_view bound_error = "too_many_parts";

}  // namespace

// With a search among all calls for each of them these tests would need minutes, not a second.
class LangGraphCalls : public testing::Test {
 protected:
  void TearDown() override {
    EXPECT_LT(std::chrono::steady_clock::now() - begin_, std::chrono::seconds(20));
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

TEST_F(LangGraphCalls, ThatAreInvalidAreFoundByTheirIds) {
  struct Row {
    std::string_view event;
    std::string_view members;
    std::string_view call;
  };
  constexpr std::string_view block = R"({"type":"tool_use","id":"c$"})";
  for (const Row& row :
       {Row{"messages", R"("content":@)", block}, Row{"messages/complete", R"("content":@)", block},
        Row{"messages", R"("content":"","additional_kwargs":{"tool_calls":@})",
            R"({"id":"c$","function":{}})"},
        Row{"messages", R"("content":"","response_metadata":{"output":@})",
            R"({"type":"function_call","call_id":"c$"})"}}) {
    const std::string events =
        events_of(row.event, std::string(row.members), row.call, R"({"id":"c$"})");
    EXPECT_EQ(pieces_in(events, started_call), 0U) << row.members;
    EXPECT_EQ(pieces_in(events, bound_error), 0U) << row.members;
  }
}

TEST_F(LangGraphCalls, ThatStandInAListAsWellAreFoundByTheirIds) {
  const std::string beside = R"("tool_calls":)" + listed(R"({"id":"c$","name":"f"})");
  const std::string events =
      events_of("messages", beside + R"(,"content":@)", R"({"type":"tool_use","id":"c$"})", {});
  EXPECT_GT(pieces_in(events, started_call), 10'000U);
  EXPECT_EQ(pieces_in(events, bound_error), 1U) << "what passes the bound has one error";
}

TEST_F(LangGraphCalls, ThatStayOpenAreBounded) {
  const std::string events = events_of("messages", R"("content":"","tool_call_chunks":@)",
                                       R"({"index":$,"id":"c$","name":"f","args":""})", {});
  EXPECT_GE(pieces_in(events, started_call), 1000U);
  EXPECT_EQ(pieces_in(events, bound_error), 1U);
}

TEST(MemberSet, IsLinearInItsMembers) {
  adapter::MemberSet members;
  for (int round = 0; round < 2; ++round) {
    for (std::size_t at = 0; at < many_calls; ++at) {
      members.set("m" + std::to_string(at), std::to_string(round));
    }
  }
  const std::string text = members.take();
  EXPECT_TRUE(text.starts_with(R"({"m0":1,"m1":1,)")) << text.substr(0, 40);
  EXPECT_EQ(pieces_in(text, ":1"), many_calls);
  EXPECT_EQ(pieces_in(text, ":0"), 0U);
  EXPECT_TRUE(members.empty());
  members.set("a", "1");
  EXPECT_EQ(members.take(), R"({"a":1})") << "it begins anew";
}

// An object of an answer may have as many.
TEST(AnswerFacts, AreLinearInTheirDetails) {
  adapter::AnswerFacts facts;
  for (int round = 0; round < 2; ++round) {
    for (std::size_t at = 0; at < many_calls; ++at) {
      facts.set_detail_json("m" + std::to_string(at), std::to_string(round));
    }
  }
  const std::string text = facts.take();
  EXPECT_TRUE(text.starts_with(R"({"details":{"m0":1,"m1":1,)")) << text.substr(0, 40);
  EXPECT_EQ(pieces_in(text, ":1"), many_calls);
}

}  // namespace millrace
