// What providers sign goes back byte for byte, and without its signature once a user changed it:
// answers of each wire that signs, by way of an AG-UI client and by way of the engine's own fold.

#include "model/payload/unfit_signatures.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "adapter/decoder.hpp"
#include "base/json_tree.hpp"
#include "encoder/ag_ui.hpp"
#include "message/fold.hpp"
#include "model/build.hpp"

using namespace millrace;
using json::Tree;
using test::body_of;
using test::build;
using test::has;
using test::settings_of;

namespace {

enum class SignedPart : std::uint8_t { reasoning, text, arguments };

struct SignedAnswer {
  std::string_view name;
  std::string_view wire;
  std::string_view provider;
  std::string_view answer;
  SignedPart part;          // what is signed
  std::string_view sent;    // of the request, as long as nothing was changed
  std::string_view secret;  // the signature
};

const SignedAnswer signed_answers[] = {
    {"anthropic thinking", "anthropic", "anthropic",
     R"({"id":"msg_1","type":"message","role":"assistant","content":[{"type":"thinking","thinking":)"
     R"("Let me see.","signature":"c2ln=="},{"type":"text","text":"Hi"}],"stop_reason":"end_turn"})",
     SignedPart::reasoning,
     R"({"type":"thinking","thinking":"Let me see.","signature":"c2ln=="},{"type":"text","text":"Hi"})",
     "c2ln=="},
    {"anthropic redacted thinking", "anthropic", "anthropic",
     R"({"id":"msg_1","type":"message","role":"assistant","content":[{"type":"redacted_thinking",)"
     R"("data":"b3BhcXVl"},{"type":"text","text":"Hi"}],"stop_reason":"end_turn"})",
     SignedPart::reasoning, R"({"type":"redacted_thinking","data":"b3BhcXVl"})", "b3BhcXVl"},
    {"anthropic thinking before a call", "anthropic", "anthropic",
     R"({"id":"msg_1","type":"message","role":"assistant","content":[{"type":"thinking","thinking":)"
     R"("Look.","signature":"c2ln=="},{"type":"tool_use","id":"toolu_1","name":"look","input":)"
     R"({"q":1}}],"stop_reason":"tool_use"})",
     SignedPart::reasoning, R"({"type":"thinking","thinking":"Look.","signature":"c2ln=="})",
     "c2ln=="},
    {"gemini text", "gemini", "google",
     R"({"candidates":[{"content":{"role":"model","parts":[{"text":"Hi","thoughtSignature":)"
     R"("c2ln"}]},"finishReason":"STOP"}]})",
     SignedPart::text, R"({"text":"Hi","thoughtSignature":"c2ln"})", "c2ln"},
    {"gemini thought", "gemini", "google",
     R"({"candidates":[{"content":{"role":"model","parts":[{"text":"Hm.","thought":true,)"
     R"("thoughtSignature":"c2ln"},{"text":"Hi"}]},"finishReason":"STOP"}]})",
     SignedPart::reasoning, R"({"text":"Hm.","thought":true,"thoughtSignature":"c2ln"})", "c2ln"},
    {"gemini call", "gemini", "google",
     R"({"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"look","args":)"
     R"({"q":1}},"thoughtSignature":"c2ln"}]},"finishReason":"STOP"}]})",
     SignedPart::arguments, R"("name":"look","args":{"q":1}},"thoughtSignature":"c2ln"})", "c2ln"},
    {"interactions thought", "gemini_interactions", "google",
     R"({"id":"v1_x","object":"interaction","status":"completed","model":"m","steps":[{"type":)"
     R"("thought","signature":"c2ln","summary":[{"type":"text","text":"Hm."}]},{"type":)"
     R"("model_output","content":[{"type":"text","text":"Hi"}]}]})",
     SignedPart::reasoning, R"({"text":"Hm.","thought":true,"thoughtSignature":"c2ln"})", "c2ln"},
    {"interactions call", "gemini_interactions", "google",
     R"({"id":"v1_x","object":"interaction","status":"requires_action","model":"m","steps":[{"id":)"
     R"("c1","type":"function_call","signature":"c2ln","name":"look","arguments":{"q":1}}]})",
     SignedPart::arguments, R"("thoughtSignature":"c2ln")", "c2ln"},
    {"responses", "openai_responses", "openai",
     R"({"id":"resp_1","object":"response","status":"completed","output":[{"type":"reasoning","id":)"
     R"("rs_1","summary":[{"type":"summary_text","text":"Hm."}],"encrypted_content":"gAAAAsig"},)"
     R"({"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":)"
     R"("output_text","text":"Hi","annotations":[]}]},{"type":"function_call","id":"fc_1",)"
     R"("call_id":"call_1","name":"look","arguments":"{}","status":"completed"}]})",
     SignedPart::reasoning,
     R"({"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Hm."}],)"
     R"("encrypted_content":"gAAAAsig"})",
     "gAAAAsig"},
    {"responses without a summary", "openai_responses", "openai",
     R"({"id":"resp_1","object":"response","status":"completed","output":[{"type":"reasoning","id":)"
     R"("rs_1","summary":[],"encrypted_content":"gAAAAsig"},{"type":"function_call","id":"fc_1",)"
     R"("call_id":"call_1","name":"look","arguments":"{}","status":"completed"}]})",
     SignedPart::reasoning,
     R"({"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAAAsig"})", "gAAAAsig"},
    {"responses with a status", "openai_responses", "openai",
     R"({"id":"resp_1","object":"response","status":"completed","output":[{"type":"reasoning","id":)"
     R"("rs_1","summary":[{"type":"summary_text","text":"Hm."}],"encrypted_content":"gAAAAsig",)"
     R"("status":"completed"},{"type":"function_call","id":"fc_1","call_id":"call_1","name":"look",)"
     R"("arguments":"{}","status":"completed"}]})",
     SignedPart::reasoning,
     R"({"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Hm."}],)"
     R"("encrypted_content":"gAAAAsig","status":"completed"})",
     "gAAAAsig"},
    {"responses of several parts", "openai_responses", "openai",
     R"({"id":"resp_1","object":"response","status":"completed","output":[{"type":"reasoning","id":)"
     R"("rs_1","summary":[{"type":"summary_text","text":"A."},{"type":"summary_text","text":"B."}],)"
     R"("content":[{"type":"reasoning_text","text":"C."}],"encrypted_content":"gAAAAsig"},)"
     R"({"type":"function_call","id":"fc_1","call_id":"call_1","name":"look","arguments":"{}",)"
     R"("status":"completed"}]})",
     SignedPart::reasoning,
     R"({"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"A."},{"type":)"
     R"("summary_text","text":"B."}],"content":[{"type":"reasoning_text","text":"C."}],)"
     R"("encrypted_content":"gAAAAsig"})",
     "gAAAAsig"},
    {"bedrock", "bedrock_converse", "bedrock",
     R"({"output":{"message":{"role":"assistant","content":[{"reasoningContent":{"reasoningText":)"
     R"({"text":"Hm.","signature":"c2ln=="}}},{"text":"Hi"}]}},"stopReason":"end_turn"})",
     SignedPart::reasoning,
     R"({"reasoningContent":{"reasoningText":{"text":"Hm.","signature":"c2ln=="}}})", "c2ln=="},
    {"bedrock redacted", "bedrock_converse", "bedrock",
     R"({"output":{"message":{"role":"assistant","content":[{"reasoningContent":{"redactedContent":)"
     R"("b3BhcXVl"}},{"text":"Hi"}]}},"stopReason":"end_turn"})",
     SignedPart::reasoning, R"({"reasoningContent":{"redactedContent":"b3BhcXVl"}})", "b3BhcXVl"},
    {"openrouter", "openai_chat", "openrouter",
     R"({"id":"gen-1","object":"chat.completion","choices":[{"index":0,"message":{"role":)"
     R"("assistant","content":"Hi","reasoning":"Hm.","reasoning_details":[{"type":"reasoning.text",)"
     R"("text":"Hm.","signature":"c2ln==","index":0}]},"finish_reason":"stop"}]})",
     SignedPart::reasoning, R"("signature":"c2ln==")", "c2ln=="},
    {"openrouter encrypted", "openai_chat", "openrouter",
     R"({"id":"gen-1","object":"chat.completion","choices":[{"index":0,"message":{"role":)"
     R"("assistant","content":null,"reasoning":"Hm.","reasoning_details":[{"type":)"
     R"("reasoning.summary","summary":"Hm.","index":0},{"type":"reasoning.encrypted","data":)"
     R"("b3BhcXVl","index":1}],"tool_calls":[{"id":"c1","type":"function","function":{"name":)"
     R"("look","arguments":"{}"}}]},"finish_reason":"tool_calls"}]})",
     SignedPart::reasoning, R"("data":"b3BhcXVl")", "b3BhcXVl"},
    {"mistral", "mistral", "mistral",
     R"({"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant",)"
     R"("content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm."}],"signature":)"
     R"("c2ln=="},{"type":"text","text":"Hi"}]},"finish_reason":"stop"}]})",
     SignedPart::reasoning, R"("signature":"c2ln==")", "c2ln=="},
};

// Gives events to an encoder, as a client of AG-UI reads them, and to a fold.
class BothWays final : public event::EventSink {
 public:
  explicit BothWays(std::string_view provider) : issuer_("\"" + std::string(provider) + "\"") {}
  void on_event(const event::Event& event) override {
    if (const auto* value = std::get_if<event::EncryptedValue>(&event.body)) {
      // A call of a model names who gave it.
      take({event::ProviderState{event::issuer_provider, event::issuer_kind, value->entity_id,
                                 issuer_}});
    }
    take(event);
  }
  // The messages of a client, or of the fold.
  Tree messages(bool of_client) {
    return of_client ? client_messages() : Tree::parse(fold_.messages_json()).value();
  }

 private:
  void take(const event::Event& event) {
    encoder_.on_event(event);
    fold_.feed(event);
  }
  // A client merges the metadata of the events, and makes nothing of signatures but members.
  Tree client_messages() {
    encoder_.finish();
    const std::string frames = encoder_.take();
    constexpr std::string_view lead = "data: ";
    CountingIds ids("c-");
    message::Folder client(ids);
    std::vector<Tree> values;
    for (std::size_t at = 0; at < frames.size();) {
      const std::size_t end = frames.find("\n\n", at);
      const std::string event = frames.substr(at + lead.size(), end - at - lead.size());
      at = end + 2;
      Tree read = Tree::parse(event).value();
      if (read["type"].string() == "REASONING_ENCRYPTED_VALUE") {
        values.push_back(read);
      } else {
        EXPECT_TRUE(client.feed("[" + event + "]").ok());
      }
    }
    Tree made = Tree::parse(client.messages_json()).value();
    for (const Tree& value : values) sign(made, value);
    return made;
  }
  static void sign(Tree& messages, const Tree& value) {
    Tree* message_of_id = nullptr;
    for (Tree& message : messages.items()) {
      const bool is_named = message["id"].string() == value["entityId"].string();
      const bool is_reasoning = message["role"].string() == "reasoning";
      if (is_named && (message_of_id == nullptr || is_reasoning)) message_of_id = &message;
      if (value["subtype"].string() != "tool-call" || !message["toolCalls"].is_array()) continue;
      for (Tree& call : message.at("toolCalls").items()) {
        if (call["id"].string() != value["entityId"].string()) continue;
        call.set("encryptedValue", value["encryptedValue"]);
        return;
      }
    }
    ASSERT_NE(message_of_id, nullptr) << value.to_json();
    message_of_id->set("encryptedValue", value["encryptedValue"]);
  }

  std::string issuer_;
  CountingIds ids_{"f-"};
  encoder::AgUiEncoder encoder_{{"t", "r", "", "1.0"}};
  message::Folder fold_{ids_};
};

Tree read_answer(const SignedAnswer& test, bool of_client) {
  BothWays ways(test.provider);
  CountingIds ids("id-");
  adapter::Decoder decoder(*adapter::find_wire(test.wire), {}, ids, ways);
  EXPECT_TRUE(decoder.feed(test.answer).ok()) << test.name;
  EXPECT_TRUE(decoder.finish().ok()) << test.name;
  return ways.messages(of_client);
}

Result<model::ChatRequest> next_request(const SignedAnswer& test, const Tree& answer) {
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
  // Of Mistral's models only those that reason get their reasoning again.
  std::string payload =
      test.provider == "mistral" ? R"({"model":"magistral-small")" : R"({"model":"test-model")";
  if (test.provider == "openai") payload.append(R"(,"apiMode":"responses")");
  json::append_raw_member(payload, "messages", messages.to_json());
  const std::string keys = R"("apiKey":"","accessKeyId":"AKIDEXAMPLE","secretAccessKey":"s")";
  return build(settings_of(test.provider, test.provider == "bedrock" ? keys : ""), payload + "}");
}

std::string sentences_of(const Result<model::ChatRequest>& built) {
  std::string notes;
  if (!built) return notes;
  for (const model::Note& note : built.value().notes) notes.append(note.sentence).append("\n");
  return notes;
}

// Changes the last part of the kind that is signed.
void edit_signed(Tree& answer, SignedPart part) {
  auto& messages = answer.items();
  for (auto message = messages.rbegin(); message != messages.rend(); ++message) {
    const std::string_view role = (*message)["role"].string();
    if (part == SignedPart::arguments && !(*message)["toolCalls"].items().empty()) {
      message->at("toolCalls").items()[0].at("function").set("arguments", R"({"q":2})");
      return;
    }
    if (part == SignedPart::arguments ||
        role != (part == SignedPart::text ? "assistant" : "reasoning"))
      continue;
    message->set("content", "Edited words.");
    return;
  }
  ADD_FAILURE() << "nothing to edit: " << answer.to_json();
}

constexpr std::string_view one_left_out = "Signatures of earlier answers are left out: 1.";

void for_each_way(const std::function<void(const SignedAnswer&, bool of_client)>& check) {
  for (const SignedAnswer& test : signed_answers) {
    for (const bool of_client : {true, false}) {
      SCOPED_TRACE(std::string(test.name) + (of_client ? ", client" : ", fold"));
      check(test, of_client);
    }
  }
}

}  // namespace

TEST(UnfitSignatures, WhatNobodyChangedGoesBackAsItCame) {
  for_each_way([](const SignedAnswer& test, bool of_client) {
    const Tree answer = read_answer(test, of_client);
    const auto built = next_request(test, answer);
    EXPECT_TRUE(has(body_of(built), test.sent)) << body_of(built) << "\n" << answer.to_json();
    EXPECT_FALSE(has(sentences_of(built), "left out")) << sentences_of(built);
    EXPECT_TRUE(has(answer.to_json(), R"("shown":")")) << answer.to_json();
  });
}

TEST(UnfitSignatures, WhatIsEditedGoesWithoutItsSignature) {
  for_each_way([](const SignedAnswer& test, bool of_client) {
    Tree answer = read_answer(test, of_client);
    edit_signed(answer, test.part);
    const auto built = next_request(test, answer);
    ASSERT_TRUE(built.ok()) << body_of(built);
    EXPECT_FALSE(has(body_of(built), test.secret)) << body_of(built);
    EXPECT_TRUE(has(sentences_of(built), one_left_out)) << sentences_of(built) << answer.to_json();
  });
}

TEST(UnfitSignatures, NothingSignedIsSentOfReasoningThatIsGone) {
  for_each_way([](const SignedAnswer& test, bool of_client) {
    if (test.part != SignedPart::reasoning) return;
    Tree answer = read_answer(test, of_client);
    std::erase_if(answer.items(),
                  [](const Tree& message) { return message["role"].string() == "reasoning"; });
    const auto built = next_request(test, answer);
    ASSERT_TRUE(built.ok()) << body_of(built);
    EXPECT_FALSE(has(body_of(built), test.secret)) << body_of(built);
  });
}

// The Responses API finds what it made by its id, and rejects it without its reasoning.
TEST(UnfitSignatures, ItemsGoAsNewOnesWithoutTheirReasoning) {
  for_each_way([](const SignedAnswer& test, bool of_client) {
    if (test.wire != "openai_responses") return;
    const Tree answer = read_answer(test, of_client);
    EXPECT_TRUE(has(body_of(next_request(test, answer)), R"("id":"fc_1")"));
    Tree edited = answer;
    edit_signed(edited, test.part);
    Tree without = answer;
    std::erase_if(without.items(),
                  [](const Tree& message) { return message["role"].string() == "reasoning"; });
    for (const Tree& changed : {edited, without}) {
      const auto built = next_request(test, changed);
      ASSERT_TRUE(built.ok()) << body_of(built);
      EXPECT_TRUE(has(body_of(built), R"("call_id":"call_1")")) << body_of(built);
      for (const std::string_view id : {"fc_1", "rs_1", "msg_1"}) {
        EXPECT_FALSE(has(body_of(built), id)) << body_of(built);
      }
      EXPECT_TRUE(has(sentences_of(built), "Ids of earlier items are left out"))
          << sentences_of(built);
    }
  });
}

// One part of reasoning is gone, and the signature is of all of them.
TEST(UnfitSignatures, ReasoningOfWhichAPartIsGoneIsNotWhatWasSigned) {
  for_each_way([](const SignedAnswer& test, bool of_client) {
    if (test.name != "responses of several parts") return;
    Tree answer = read_answer(test, of_client);
    std::erase_if(answer.items(),
                  [](const Tree& message) { return message["id"].string() == "rs_1:1"; });
    const auto built = next_request(test, answer);
    EXPECT_FALSE(has(body_of(built), test.secret)) << body_of(built);
    EXPECT_TRUE(has(sentences_of(built), one_left_out)) << sentences_of(built);
  });
}

// A text that a signature is of may come in several pieces, with reasoning between them.
TEST(UnfitSignatures, ATextOfSeveralPiecesIsComparedAsAWhole) {
  SignedAnswer test = signed_answers[3];
  for (const bool of_client : {true, false}) {
    BothWays ways(test.provider);
    const std::string signature = R"({"google":{"thought_signature":"c2ln"}})";
    for (const event::Event& event :
         std::vector<event::Event>{{event::TextStart{"m"}},
                                   {event::TextDelta{"m", "A"}},
                                   {event::ReasoningStart{"r"}},
                                   {event::ReasoningDelta{"r", "Hm."}},
                                   {event::ReasoningEnd{"r"}},
                                   {event::TextDelta{"m", "B"}},
                                   {event::TextEnd{"m"}},
                                   {event::EncryptedValue{"message", "m", signature}}}) {
      ways.on_event(event);
    }
    Tree answer = ways.messages(of_client);
    EXPECT_TRUE(has(body_of(next_request(test, answer)), "c2ln")) << answer.to_json();
    edit_signed(answer, SignedPart::text);
    EXPECT_FALSE(has(body_of(next_request(test, answer)), "c2ln"));
  }
}

// Clients may write the JSON of arguments in their own way.
TEST(UnfitSignatures, ArgumentsOfTheSameValueAreTheSame) {
  Tree answer = read_answer(signed_answers[5], true);
  for (Tree& message : answer.items()) {
    for (Tree& call : message.at("toolCalls").items()) {
      call.at("function").set("arguments", "{ \"q\": 1 }");
    }
  }
  EXPECT_TRUE(has(body_of(next_request(signed_answers[5], answer)), "c2ln"));
}

// A snapshot that knows nothing of signatures shows edited words: the signature is not of these.
TEST(UnfitSignatures, ASnapshotDoesNotSignOtherWords) {
  CountingIds ids("f-");
  message::Folder fold(ids);
  fold.feed(event::Event{event::ReasoningStart{"r"}});
  fold.feed(event::Event{event::ReasoningDelta{"r", "Hm."}});
  fold.feed(event::Event{event::EncryptedValue{"message", "r", "c2ln=="}});
  fold.feed(event::Event{event::ReasoningEnd{"r"}});
  fold.feed(
      event::Event{event::MessagesSnapshot{R"([{"id":"r","role":"reasoning","content":"Edited."},)"
                                           R"({"id":"m","role":"assistant","content":"Hi"}])"}});
  const auto built = next_request(signed_answers[0], Tree::parse(fold.messages_json()).value());
  EXPECT_FALSE(has(body_of(built), "c2ln==")) << body_of(built);
  EXPECT_TRUE(has(sentences_of(built), one_left_out)) << sentences_of(built);
}
