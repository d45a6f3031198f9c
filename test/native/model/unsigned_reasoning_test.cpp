// Reasoning that a provider did not sign goes back to it where the model takes it, and is named
// where it does not.

#include "model/payload/unsigned_reasoning.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <variant>

#include "adapter/decoder.hpp"
#include "base/json_tree.hpp"
#include "format/format.hpp"
#include "message/fold.hpp"
#include "model/build.hpp"

using namespace millrace;
using json::Tree;
using test::body_of;
using test::build;
using test::has;
using test::settings_of;

namespace {

// A fold whose messages name who made their state, as those of a call do.
class Claimed final : public event::EventSink {
 public:
  explicit Claimed(std::string_view provider) : issuer_("\"" + std::string(provider) + "\"") {}
  void on_event(const event::Event& event) override {
    std::string owner;
    if (const auto* value = std::get_if<event::EncryptedValue>(&event.body)) {
      owner = value->entity_id;
    } else if (const auto* state = std::get_if<event::ProviderState>(&event.body)) {
      owner = state->entity_id;
    }
    if (!owner.empty() && claimed_.insert(owner).second) {
      fold_.feed(
          {event::ProviderState{event::issuer_provider, event::issuer_kind, owner, issuer_}});
    }
    fold_.feed(event);
  }
  [[nodiscard]] Tree messages() { return Tree::parse(fold_.messages_json()).value(); }

 private:
  std::string issuer_;
  std::unordered_set<std::string> claimed_;
  CountingIds ids_{"f-"};
  message::Folder fold_{ids_};
};

Tree unsigned_answer(std::string_view wire, std::string_view provider, std::string_view answer) {
  Claimed fold(provider);
  CountingIds ids("id-");
  adapter::Decoder decoder(*adapter::find_wire(wire), {}, ids, fold);
  EXPECT_TRUE(decoder.feed(answer).ok()) << wire;
  EXPECT_TRUE(decoder.finish().ok()) << wire;
  return fold.messages();
}

// The request behind the answer; `more` are further members of the payload, `settings` of the
// provider's.
Result<model::ChatRequest> request_after(const Tree& answer, std::string_view provider,
                                         std::string_view model, std::string_view more = {},
                                         std::string_view settings = {}) {
  Tree messages = Tree::array();
  messages.push(Tree::parse(R"({"role":"user","content":"Ask"})").value());
  for (const Tree& message : answer.items()) messages.push(message);
  for (const Tree& message : answer.items()) {
    for (const Tree& call : message["toolCalls"].items()) {
      Tree result = Tree::parse(R"({"role":"tool","content":"Found."})").value();
      result.set("toolCallId", call["id"]);
      messages.push(result);
    }
  }
  messages.push(Tree::parse(R"({"role":"user","content":"Go on"})").value());
  std::string payload = "{";
  json::append_member(payload, "model", model);
  json::append_raw_member(payload, "messages", messages.to_json());
  payload.append(more.empty() ? "" : ",").append(more).append("}");
  std::string given(settings);
  if (provider == "bedrock") {
    given = R"("apiKey":"","accessKeyId":"AKIDEXAMPLE","secretAccessKey":"s")";
  }
  return build(settings_of(provider, given), payload);
}

std::string notes_behind(const Result<model::ChatRequest>& built) {
  std::string notes;
  if (!built) return notes;
  for (const model::Note& note : built.value().notes) notes.append(note.sentence).append("\n");
  return notes;
}

constexpr std::string_view unsigned_note = "Reasoning without a signature is left out";

struct UnsignedWire {
  std::string_view wire;
  std::string_view format;
  std::string_view provider;
  std::string_view model;  // one that takes it
  std::string_view answer;
  std::string_view sent;
};

constexpr std::string_view own_base = R"("baseURL":"https://example.test/anthropic")";

const UnsignedWire unsigned_wires[] = {
    {"bedrock_converse", "bedrock_converse", "bedrock", "openai.gpt-oss-120b-1:0",
     R"({"output":{"message":{"role":"assistant","content":[{"reasoningContent":{"reasoningText":)"
     R"({"text":"Hm."}}},{"text":"Hi"}]}},"stopReason":"end_turn"})",
     R"({"reasoningContent":{"reasoningText":{"text":"Hm."}}},{"text":"Hi"})"},
    {"anthropic", "anthropic", "anthropic", "MiniMax-M2",
     R"({"id":"msg_1","type":"message","role":"assistant","content":[{"type":"thinking",)"
     R"("thinking":"Hm.","signature":""},{"type":"text","text":"Hi"}],"stop_reason":"end_turn"})",
     R"({"type":"thinking","thinking":"Hm.","signature":""},{"type":"text","text":"Hi"})"},
    {"gemini", "gemini", "google", "gemini-3-pro-preview",
     R"({"candidates":[{"content":{"role":"model","parts":[{"text":"Hm.","thought":true},)"
     R"({"text":"Hi"}]},"finishReason":"STOP"}]})",
     R"({"text":"Hm.","thought":true},{"text":"Hi"})"},
};

Result<model::ChatRequest> request_with(const UnsignedWire& row, std::string_view model) {
  const Tree answer = unsigned_answer(row.wire, row.provider, row.answer);
  return request_after(answer, row.provider, model, {},
                       row.provider == "anthropic" ? own_base : "");
}

}  // namespace

TEST(UnsignedReasoning, GoesBackToItsProvider) {
  for (const UnsignedWire& row : unsigned_wires) {
    const auto built = request_with(row, row.model);
    EXPECT_TRUE(has(body_of(built), row.sent)) << body_of(built);
    EXPECT_FALSE(has(notes_behind(built), unsigned_note)) << row.wire;
  }
}

TEST(UnsignedReasoning, GoesToNoOtherProvider) {
  for (const UnsignedWire& row : unsigned_wires) {
    const Tree answer = unsigned_answer(row.wire, row.provider, row.answer);
    for (const UnsignedWire& other : unsigned_wires) {
      if (other.wire == row.wire) continue;
      const auto built = request_after(answer, other.provider, other.model, {},
                                       other.provider == "anthropic" ? own_base : "");
      EXPECT_FALSE(has(body_of(built), "Hm.")) << body_of(built);
      EXPECT_TRUE(has(notes_behind(built), unsigned_note)) << row.wire << " to " << other.wire;
    }
  }
}

TEST(UnsignedReasoning, IsNamedWhereTheModelTakesSignedReasoningAlone) {
  const std::pair<std::size_t, std::string_view> models[] = {
      {0, "us.anthropic.claude-sonnet-4-5-20250929-v1:0"},
      {0, "us.deepseek.r1-v1:0"},
      {0, "us.amazon.nova-2-lite-v1:0"},
      {0, "arn:aws:bedrock:us-east-1:1:application-inference-profile/x"},
      {1, "claude-sonnet-4-5"}};
  for (const auto& [wire, model] : models) {
    const auto built = request_with(unsigned_wires[wire], model);
    EXPECT_FALSE(has(body_of(built), "Hm.")) << body_of(built);
    EXPECT_TRUE(has(notes_behind(built), unsigned_note)) << model;
  }
  // Anthropic's own address serves Claude under any name.
  const Tree answer = unsigned_answer("anthropic", "anthropic", unsigned_wires[1].answer);
  EXPECT_FALSE(has(body_of(request_after(answer, "anthropic", "some-alias")), "Hm."));
}

TEST(UnsignedReasoning, IsTakenByTheMakersThatTriedIt) {
  for (const std::string_view model : {"minimax.minimax-m2", "moonshot.kimi-k2-thinking",
                                       "openai.gpt-oss-20b-1:0", "qwen.qwen3-32b-v1:0"}) {
    EXPECT_TRUE(has(body_of(request_with(unsigned_wires[0], model)), unsigned_wires[0].sent))
        << model;
  }
}

// What the caller wrote in the provider's own form comes back as it was.
TEST(UnsignedReasoning, StaysInAHistory) {
  const std::string_view histories[] = {
      R"([{"role":"user","content":[{"text":"Ask"}]},{"role":"assistant","content":[{)"
      R"("reasoningContent":{"reasoningText":{"text":"Hm."}}},{"text":"Hi"}]}])",
      R"([{"role":"user","content":"Ask"},{"role":"assistant","content":[{"type":"thinking",)"
      R"("thinking":"Hm.","signature":""},{"type":"text","text":"Hi"}]}])",
      R"([{"role":"user","parts":[{"text":"Ask"}]},{"role":"model","parts":[{"text":"Hm.",)"
      R"("thought":true},{"text":"Hi"}]}])"};
  for (std::size_t i = 0; i < std::size(unsigned_wires); ++i) {
    CountingIds ids("id-");
    const format::Format& format = *format::find_format(unsigned_wires[i].format);
    const auto canonical = format::from_api(format, histories[i], ids);
    ASSERT_TRUE(canonical.ok());
    const auto again = format::to_api(format, canonical.value());
    ASSERT_TRUE(again.ok());
    EXPECT_TRUE(has(again.value(), unsigned_wires[i].sent)) << again.value();
  }
}

namespace {

constexpr std::string_view responses_api = R"("apiMode":"responses")";
constexpr std::string_view plain_output =
    R"({"id":"resp_1","object":"response","status":"completed","output":[{"type":"reasoning","id":)"
    R"("rs_1","summary":[{"type":"summary_text","text":"Hm."}]},{"type":"message","id":"msg_1",)"
    R"("role":"assistant","status":"completed","content":[{"type":"output_text","text":"Hi",)"
    R"("annotations":[]}]},{"type":"reasoning","id":"rs_2","summary":[]},{"type":"function_call",)"
    R"("id":"fc_1","call_id":"call_1","name":"look","arguments":"{}","status":"completed"}]})";

}  // namespace

// OpenAI finds an item by its id where it was stored; the others read its words.
TEST(UnsignedReasoning, OfResponsesGoesBackWhereItCanBeRead) {
  const Tree answer = unsigned_answer("openai_responses", "openai", plain_output);
  const auto stored =
      request_after(answer, "openai", "gpt-5", R"("apiMode":"responses","store":true)");
  const auto other = request_after(answer, "openai", "gpt-oss", responses_api,
                                   R"("baseURL":"http://localhost:8000/v1")");
  for (const auto& built : {&stored, &other}) {
    const std::string body = body_of(*built);
    EXPECT_TRUE(has(body, R"({"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text",)"
                          R"("text":"Hm."}]},{"role":"assistant")"))
        << body;
    EXPECT_TRUE(has(body, R"({"type":"reasoning","id":"rs_2","summary":[]},{"type":)"
                          R"("function_call")"))
        << body;
    EXPECT_TRUE(has(body, R"("id":"msg_1")") && has(body, R"("id":"fc_1")")) << body;
    EXPECT_FALSE(has(notes_behind(*built), "left out")) << notes_behind(*built);
  }
}

// OpenAI rejects an item that it knows by its id without the reasoning that it came with.
TEST(UnsignedReasoning, OfResponsesTakesTheIdsBehindItAlong) {
  const Tree answer = unsigned_answer("openai_responses", "openai", plain_output);
  const auto built = request_after(answer, "openai", "gpt-5", responses_api);
  ASSERT_TRUE(built.ok()) << body_of(built);
  for (const std::string_view id : {"rs_1", "rs_2", "msg_1", "fc_1", "Hm."}) {
    EXPECT_FALSE(has(body_of(built), id)) << body_of(built);
  }
  EXPECT_TRUE(has(body_of(built), R"("call_id":"call_1")")) << body_of(built);
  EXPECT_TRUE(has(notes_behind(built), "Thoughts of earlier turns are left out: 2."))
      << notes_behind(built);
  EXPECT_TRUE(has(notes_behind(built), "Ids of earlier items are left out: 2."))
      << notes_behind(built);
}

// A part of a summary without words is one all the same.
TEST(UnsignedReasoning, OfResponsesKeepsItsEmptyParts) {
  for (const std::string_view summary :
       {R"([{"type":"summary_text","text":""}])",
        R"([{"type":"summary_text","text":""},{"type":"summary_text","text":"B."}])",
        R"([{"type":"summary_text","text":"A."},{"type":"summary_text","text":""}])"}) {
    const std::string item = R"({"type":"reasoning","id":"rs_1","summary":)" +
                             std::string(summary) + R"(,"encrypted_content":"gAAAAsig"})";
    const std::string whole =
        R"({"id":"resp_1","object":"response","status":"completed","output":[)" + item +
        R"(,{"type":"message","id":"msg_1","role":"assistant","status":)"
        R"("completed","content":[{"type":"output_text","text":"Hi",)"
        R"("annotations":[]}]}]})";
    const Tree answer = unsigned_answer("openai_responses", "openai", whole);
    const auto built = request_after(answer, "openai", "gpt-5", responses_api);
    EXPECT_TRUE(has(body_of(built), item)) << body_of(built);
    CountingIds ids("id-");
    const format::Format& format = *format::find_format("openai_conversation");
    const auto canonical = format::from_api(format, "[" + item + "]", ids);
    ASSERT_TRUE(canonical.ok());
    EXPECT_EQ(format::to_api(format, canonical.value()).value(), "[" + item + "]");
  }
}
