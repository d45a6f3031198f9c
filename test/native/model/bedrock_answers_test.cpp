// What Bedrock said of its own tools and texts goes back to it, and texts that it rejects are
// named.

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "adapter/decoder.hpp"
#include "base/json_tree.hpp"
#include "message/fold.hpp"
#include "model/build.hpp"
#include "support/collect.hpp"

using namespace millrace;
using json::Tree;
using test::body_of;
using test::build;
using test::converse;
using test::has;

namespace {

constexpr std::string_view converse_model = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";

std::string whole_converse(std::string_view content) {
  return R"({"output":{"message":{"role":"assistant","content":)" + std::string(content) +
         R"(}},"stopReason":"end_turn"})";
}

class FoldOfConverse final : public event::EventSink {
 public:
  void on_event(const event::Event& event) override { fold_.feed(event); }
  [[nodiscard]] Tree messages() { return Tree::parse(fold_.messages_json()).value(); }

 private:
  CountingIds ids_{"f-"};
  message::Folder fold_{ids_};
};

// The request behind an answer with this content.
Result<model::ChatRequest> converse_behind(std::string_view content) {
  FoldOfConverse fold;
  CountingIds ids("id-");
  adapter::Decoder decoder(*adapter::find_wire("bedrock_converse"), {}, ids, fold);
  EXPECT_TRUE(decoder.feed(whole_converse(content)).ok());
  EXPECT_TRUE(decoder.finish().ok());
  Tree messages = Tree::array();
  messages.push(Tree::parse(R"({"role":"user","content":"Ask"})").value());
  const Tree folded = fold.messages();
  for (const Tree& message : folded.items()) messages.push(message);
  messages.push(Tree::parse(R"({"role":"user","content":"Go on"})").value());
  return converse(
      converse_model, messages.to_json(),
      R"("tools":[{"type":"function","function":{"name":"look","parameters":{"type":"object"}}}])");
}

bool has_converse_note(const Result<model::ChatRequest>& built, std::string_view sentence) {
  if (!built) return false;
  for (const model::Note& note : built.value().notes) {
    if (has(note.sentence, sentence)) return true;
  }
  return false;
}

}  // namespace

TEST(BedrockAnswers, TheStatusOfItsOwnResultGoesBack) {
  for (const std::string_view status : {"success", "error"}) {
    for (const std::string_view items :
         {R"([{"text":"Found."}])", R"([{"text":"Found."},{"text":"More."}])"}) {
      const std::string result = R"("type":"nova_grounding_result","content":)" +
                                 std::string(items) + R"(,"status":")" + std::string(status) +
                                 R"("})";
      const auto built = converse_behind(
          R"([{"toolUse":{"toolUseId":"s1","name":"nova_grounding","input":{},"type":)"
          R"("server_tool_use"}},{"toolResult":{"toolUseId":"s1",)" +
          result + R"(},{"text":"Hi"}])");
      EXPECT_TRUE(has(body_of(built), R"("status":")" + std::string(status) + "\""))
          << body_of(built);
    }
  }
}

TEST(BedrockAnswers, ABlockOfCitationsWithoutAnyStaysOne) {
  constexpr std::string_view block =
      R"({"citationsContent":{"content":[{"text":"No source."}],"citations":[]}})";
  const auto built = converse_behind("[{\"text\":\"First. \"}," + std::string(block) + "]");
  EXPECT_TRUE(has(body_of(built), block)) << body_of(built);
}

TEST(BedrockAnswers, ASecondResultOfACallIsNamed) {
  test::Collector events;
  CountingIds ids("id-");
  adapter::Decoder decoder(*adapter::find_wire("bedrock_converse"), {}, ids, events);
  ASSERT_TRUE(decoder
                  .feed(whole_converse(
                      R"([{"toolUse":{"toolUseId":"s1","name":"x","input":{},"type":)"
                      R"("server_tool_use"}},{"toolResult":{"toolUseId":"s1","content":[{"text":)"
                      R"("A"}]}},{"toolResult":{"toolUseId":"s1","content":[{"text":"B"}]}}])"))
                  .ok());
  EXPECT_TRUE(has(events.text(true), "A call has two results, of which the last one counts."))
      << events.text(true);
}

TEST(BlankTexts, AreNamedWhereTheApiRejectsThem) {
  constexpr std::string_view messages =
      R"([{"role":"user","content":"Ask"},{"role":"assistant","content":"\n\n"},)"
      R"({"role":"user","content":"Go on"}])";
  const std::string payload =
      R"({"model":"claude-sonnet-4-5","max_tokens":9,"messages":)" + std::string(messages) + "}";
  constexpr std::string_view sentence = "Texts of white space alone are left out";
  EXPECT_TRUE(has_converse_note(build(test::settings_of("anthropic"), payload), sentence));
  EXPECT_TRUE(has_converse_note(converse(converse_model, messages), sentence));
  EXPECT_FALSE(has_converse_note(build(test::settings_of("google"), payload), sentence));
  EXPECT_FALSE(has_converse_note(converse(converse_model, R"([{"role":"user","content":"Ask"}])"),
                                 sentence));
}
