// Records of a graph with very many calls: what a server sends costs work that grows with its size.
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "adapter/answer_facts.hpp"
#include "adapter/decoder.hpp"
#include "adapter/member_set.hpp"
#include "support/collect.hpp"
#include "support/cost.hpp"

namespace millrace {
namespace {

constexpr std::size_t few_calls = 2'500;

// `count` elements, "$" in each stands for its number.
std::string listed(std::string_view pattern, std::size_t count) {
  std::string out = "[";
  for (std::size_t at = 0; at < count; ++at) {
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

// The events of one message that has `members`.
std::string events_of(std::string_view event, std::string_view members) {
  const std::string body = "event: " + std::string(event) +
                           "\ndata: [{\"type\":\"ai\",\"id\":\"m\"," + std::string(members) +
                           "},{}]\n\n";
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

// A search among all calls for each of them would cost the square of them.
TEST(LangGraphCalls, ThatAreInvalidAreFoundByTheirIds) {
  struct Row {
    std::string_view event;
    std::string_view before;
    std::string_view call;
    std::string_view behind;
  };
  constexpr std::string_view block = R"({"type":"tool_use","id":"c$"})";
  for (const Row& row : {Row{"messages", R"("content":)", block, ""},
                         Row{"messages/complete", R"("content":)", block, ""},
                         Row{"messages", R"("content":"","additional_kwargs":{"tool_calls":)",
                             R"({"id":"c$","function":{}})", "}"},
                         Row{"messages", R"("content":"","response_metadata":{"output":)",
                             R"({"type":"function_call","call_id":"c$"})", "}"}}) {
    const auto decodes = [&](std::size_t calls) {
      const std::string members = std::string(row.before) + listed(row.call, calls) +
                                  std::string(row.behind) + R"(,"invalid_tool_calls":)" +
                                  listed(R"({"id":"c$"})", calls);
      const std::string events = events_of(row.event, members);
      EXPECT_EQ(pieces_in(events, started_call), 0U) << row.before;
      EXPECT_EQ(pieces_in(events, bound_error), 0U) << row.before;
    };
    EXPECT_LE(test::growth_of(decodes, few_calls), test::most_growth) << row.before;
  }
}

TEST(LangGraphCalls, ThatStandInAListAsWellAreFoundByTheirIds) {
  const auto decoded = [](std::size_t calls) {
    return events_of("messages", R"("tool_calls":)" + listed(R"({"id":"c$","name":"f"})", calls) +
                                     R"(,"content":)" +
                                     listed(R"({"type":"tool_use","id":"c$"})", calls));
  };
  EXPECT_LE(test::growth_of(decoded, few_calls), test::most_growth);
  const std::string events = decoded(100'000);
  EXPECT_GT(pieces_in(events, started_call), 10'000U);
  EXPECT_EQ(pieces_in(events, bound_error), 1U) << "what passes the bound has one error";
}

TEST(LangGraphCalls, ThatStayOpenAreBounded) {
  const auto decoded = [](std::size_t calls) {
    return events_of("messages",
                     R"("content":"","tool_call_chunks":)" +
                         listed(R"({"index":$,"id":"c$","name":"f","args":""})", calls));
  };
  EXPECT_LE(test::growth_of(decoded, few_calls), test::most_growth);
  const std::string events = decoded(100'000);
  EXPECT_GE(pieces_in(events, started_call), 1000U);
  EXPECT_EQ(pieces_in(events, bound_error), 1U);
}

TEST(MemberSet, IsLinearInItsMembers) {
  adapter::MemberSet members;
  const auto sets = [&](std::size_t count) {
    for (int round = 0; round < 2; ++round) {
      for (std::size_t at = 0; at < count; ++at) {
        members.set("m" + std::to_string(at), std::to_string(round));
      }
    }
    const std::string text = members.take();
    EXPECT_TRUE(text.starts_with(R"({"m0":1,"m1":1,)")) << text.substr(0, 40);
    EXPECT_EQ(pieces_in(text, ":1"), count);
    EXPECT_EQ(pieces_in(text, ":0"), 0U);
    EXPECT_TRUE(members.empty());
  };
  EXPECT_LE(test::growth_of(sets, few_calls), test::most_growth);
  members.set("a", "1");
  EXPECT_EQ(members.take(), R"({"a":1})") << "it begins anew";
}

// An object of an answer may have as many.
TEST(AnswerFacts, AreLinearInTheirDetails) {
  const auto sets = [](std::size_t count) {
    adapter::AnswerFacts facts;
    for (int round = 0; round < 2; ++round) {
      for (std::size_t at = 0; at < count; ++at) {
        facts.set_detail_json("m" + std::to_string(at), std::to_string(round));
      }
    }
    const std::string text = facts.take();
    EXPECT_TRUE(text.starts_with(R"({"details":{"m0":1,"m1":1,)")) << text.substr(0, 40);
    EXPECT_EQ(pieces_in(text, ":1"), count);
  };
  EXPECT_LE(test::growth_of(sets, few_calls), test::most_growth);
}

}  // namespace millrace
