// How an answer's content was made of parts, where text and reasoning do not show it.
#include "adapter/content_list.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

#include "adapter/alternatives.hpp"
#include "adapter/decoder.hpp"
#include "adapter/unknown_members.hpp"
#include "support/collect.hpp"

namespace millrace {
namespace {

std::string decode_content(std::string_view wire, std::string_view body) {
  CountingIds ids("id-");
  test::Collector events;
  adapter::DecoderOptions options;
  options.details = true;
  adapter::Decoder decoder(*adapter::find_wire(wire), options, ids, events);
  EXPECT_TRUE(decoder.feed(body).ok());
  EXPECT_TRUE(decoder.finish().ok());
  return events.text(true);
}

std::string content_state(adapter::ContentList& list) {
  const auto state = list.take();
  if (!state) return "none";
  return std::string(state->provider).append(" ").append(state->kind).append(" ") + state->json;
}

void add_part(adapter::ContentList& list, std::string_view part, bool goes_on) {
  json::Document document;
  const auto value = document.parse(part);
  ASSERT_TRUE(value.ok());
  list.add(value.value(), goes_on);
}

constexpr std::string_view hm = R"({"type":"thinking","thinking":[{"type":"text","text":"Hm."}]})";

}  // namespace

TEST(ContentList, KeepsTheLengthsOfTexts) {
  adapter::ContentList list;
  add_part(list, R"({"type":"text","text":"It"})", true);
  add_part(list, R"({"type":"text","text":" rains"})", true);
  EXPECT_EQ(content_state(list), "openai_chat list [8]");
  add_part(list, R"({"type":"text","text":"It"})", false);
  add_part(list, R"({"type":"text","text":" rains"})", false);
  EXPECT_EQ(content_state(list), "openai_chat list [2,6]");
  EXPECT_TRUE(list.empty());
}

TEST(ContentList, LeavesWhatTheMessageShows) {
  adapter::ContentList list;
  list.add_text("Yes.");
  EXPECT_TRUE(list.empty());
  add_part(list, hm, true);
  list.add_text("Yes.");
  EXPECT_EQ(content_state(list), "none");
}

TEST(ContentList, JoinsThePiecesOfAStream) {
  adapter::ContentList list;
  list.add_text("");
  add_part(list, R"({"type":"text","text":"A"})", true);
  add_part(list, hm, true);
  add_part(list,
           R"({"type":"thinking","thinking":[{"type":"reference","reference_ids":[1]},)"
           R"({"type":"text","text":"So."}],"closed":true,"signature":"s"})",
           true);
  list.add_text("B");
  EXPECT_EQ(content_state(list),
            R"(mistral content [{"type":"text","text":"A"},{"type":"thinking","thinking":[)"
            R"({"type":"text","text":"Hm."},{"type":"reference","reference_ids":[1]},)"
            R"({"type":"text","text":"So."}],"closed":true,"signature":"s"},)"
            R"({"type":"text","text":"B"}])");
}

// What the types do not have goes back as it came, too.
TEST(ContentList, KeepsPartsOfAnyType) {
  adapter::ContentList list;
  add_part(list, R"({"type":"text","text":"A"})", true);
  add_part(list, R"({"type":"tool_reference","tool":"look"})", true);
  EXPECT_EQ(
      content_state(list),
      R"(mistral content [{"type":"text","text":"A"},{"type":"tool_reference","tool":"look"}])");
  add_part(list, R"({"type":"text","text":"A","note":"x"})", true);
  EXPECT_EQ(content_state(list), R"(mistral content [{"type":"text","text":"A","note":"x"}])");
}

// An answer that ends without a reason has its list as any other.
TEST(ContentList, IsOfAnAnswerWithoutAReasonToo) {
  const std::string events = decode_content(
      "mistral",
      R"({"choices":[{"index":0,"message":{"role":"assistant","content":[{"type":"text","text":"A"},)"
      R"({"type":"reference","reference_ids":[1]},{"type":"text","text":"B"}]}}]})");
  EXPECT_NE(events.find("reference_ids"), std::string::npos) << events;
}

TEST(ContentList, TakesAStringForAText) {
  const std::string events = decode_content(
      "openai_chat",
      R"({"choices":[{"index":0,"message":{"role":"assistant","content":["It ",{"type":"text",)"
      R"("text":"rains"}]},"finish_reason":"stop"}]})");
  EXPECT_NE(events.find("It "), std::string::npos) << events;
  EXPECT_EQ(events.find("image_url"), std::string::npos) << events;
}

// Of other servers' lists nothing is known.
TEST(ContentList, LeavesPartsOfOthers) {
  adapter::ContentList list;
  add_part(list, R"({"image":"https://e.com/a.png"})", true);
  EXPECT_EQ(content_state(list), "none");
}

TEST(Alternatives, BeyondTheLimitAreCountedOut) {
  std::string candidates =
      R"({"index":0,"content":{"parts":[{"text":"A"}]},"finishReason":"STOP"})";
  for (int index = 1; index <= 1025; ++index) {
    candidates +=
        R"(,{"index":)" + std::to_string(index) + R"(,"content":{"parts":[{"text":"B"}]}})";
  }
  const std::string events = decode_content("gemini", R"({"candidates":[)" + candidates + "]}");
  EXPECT_NE(events.find("more than 1024 further answers"), std::string::npos);
}

TEST(Alternatives, JoinTheTextOfACandidate) {
  const std::string events = decode_content(
      "gemini",
      "data: {\"candidates\":[{\"index\":0,\"content\":{\"parts\":[{\"text\":\"A\"}]}},"
      "{\"index\":1,\"content\":{\"parts\":[{\"text\":\"B\"}]}}]}\n\n"
      "data: {\"candidates\":[{\"index\":0,\"finishReason\":\"STOP\"},"
      "{\"index\":1,\"content\":{\"parts\":[{\"text\":\"C\"}]},\"finishReason\":\"STOP\"}]}\n\n");
  EXPECT_NE(events.find(R"("parts":[{"text":"BC"}])"), std::string::npos) << events;
}

TEST(UnknownMembers, AreNamedOnceAndCountedBeyondTheLimit) {
  adapter::AnswerFacts facts;
  adapter::UnknownMembers unknown;
  constexpr std::array<std::string_view, 1> known{"content"};
  json::Document document;
  const auto piece =
      document.parse(R"({"content":"a","new":1,"empty":"","none":null,"other":{"b":2}})");
  for (int i = 0; i < 3; ++i) unknown.note(&facts, "delta", piece.value(), known);
  EXPECT_EQ(facts.take(), R"({"details":{"unknownMembers":["delta.new","delta.other"]}})");
  for (int i = 0; i < 70; ++i) {
    const std::string text = "{\"m" + std::to_string(i) + "\":1}";
    json::Document more;
    const auto next = more.parse(text);
    unknown.note(&facts, "delta", next.value(), known);
  }
  const std::string all = facts.take();
  EXPECT_NE(all.find("\"delta.m61\""), std::string::npos) << all;
  EXPECT_EQ(all.find("\"delta.m62\""), std::string::npos) << all;
  EXPECT_NE(all.find("\"unknownMembersLeftOut\":8"), std::string::npos) << all;
  unknown.note(nullptr, "delta", piece.value(), known);
}

// The names are the server's, which may be of any length.
TEST(UnknownMembers, HaveShortNamesOfWholeCharacters) {
  const auto named = [](const std::string& name) {
    adapter::AnswerFacts facts;
    adapter::UnknownMembers unknown;
    json::Document document;
    const std::string text = "{\"" + name + "\":1}";
    const auto piece = document.parse(text);
    unknown.note(&facts, "delta", piece.value(), {});
    return facts.take();
  };
  const std::string most(64, 'a');
  const std::string all = R"({"details":{"unknownMembers":["delta.)" + most + R"("]}})";
  EXPECT_EQ(named(most), all);
  EXPECT_EQ(named(most + "b"), all);
  const std::string less(63, 'a');
  EXPECT_EQ(named(less + "\u00e9"), R"({"details":{"unknownMembers":["delta.)" + less + R"("]}})");
}

TEST(LangGraphBlocks, GoByWithTheirMessage) {
  const std::string events = decode_content(
      "langgraph",
      "event: messages\ndata: [{\"type\":\"AIMessageChunk\",\"id\":\"a\",\"content\":[{\"type\":"
      "\"text\",\"text\":\"Y\",\"index\":0}]},{}]\n\n"
      "event: messages\ndata: [{\"type\":\"AIMessageChunk\",\"id\":\"a\",\"content\":[{\"type\":"
      "\"text\",\"text\":\"es\",\"index\":0}],\"response_metadata\":{\"k\":1},\"name\":\"n\"},"
      "{}]\n\nevent: end\ndata: null\n\n");
  EXPECT_NE(events.find(R"("kind":"content","entityId":"a","state":[{"type":"text","index":0,)"
                        R"("size":3}])"),
            std::string::npos)
      << events;
  EXPECT_NE(events.find(R"("state":{"response_metadata":{"k":1},"name":"n"})"), std::string::npos)
      << events;
}

}  // namespace millrace
