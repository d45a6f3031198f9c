// Each provider of the table: one streamed answer and one refusal of its dialect are read.
#include <gtest/gtest.h>

#include "adapter/decoder.hpp"
#include "model/build.hpp"
#include "model/failure/response_error.hpp"
#include "model/provider/dialects.hpp"
#include "support/aws_event_stream.hpp"
#include "support/collect.hpp"

namespace millrace {
namespace {

struct Sample {
  std::string_view wire;
  std::string stream;  // says "Hi"
  std::string refusal;
};

std::string bedrock_stream() {
  const auto event = [](std::string_view type, std::string_view payload) {
    return test::aws_message({{":message-type", "event"}, {":event-type", type}}, payload);
  };
  return event("messageStart", R"({"role":"assistant"})") +
         event("contentBlockDelta", R"({"contentBlockIndex":0,"delta":{"text":"Hi"}})") +
         event("contentBlockStop", R"({"contentBlockIndex":0})") +
         event("messageStop", R"({"stopReason":"end_turn"})");
}

// Sources: the vendors' API references (2026).
const std::vector<Sample>& samples() {
  constexpr std::string_view openai_refusal =
      R"({"error":{"message":"Wrong key.","type":"invalid_request_error"}})";
  static const std::vector<Sample> all{
      {"openai_chat",
       "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\n"
       "data: "
       "{\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
       "data: [DONE]\n\n",
       std::string(openai_refusal)},
      {"mistral",
       "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\n"
       "data: "
       "{\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
       "data: [DONE]\n\n",
       R"({"message":"Wrong key.","request_id":"r"})"},
      {"anthropic",
       "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\"}}\n\n"
       "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,"
       "\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"
       "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,"
       "\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\n"
       "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
       "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":"
       "\"end_turn\"}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
       R"({"type":"error","error":{"type":"authentication_error","message":"Wrong key."}})"},
      {"gemini",
       "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"Hi\"}]},"
       "\"finishReason\":\"STOP\"}]}\n\n",
       R"([{"error":{"code":401,"message":"Wrong key.","status":"UNAUTHENTICATED"}}])"},
      {"ollama",
       "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"Hi\"},\"done\":false}\n"
       "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,"
       "\"done_reason\":\"stop\"}\n",
       R"({"error":"Wrong key."})"},
      {"cohere",
       "event: message-start\ndata: {\"type\":\"message-start\",\"id\":\"m\"}\n\n"
       "event: content-start\ndata: {\"type\":\"content-start\",\"index\":0,\"delta\":{\"message\":"
       "{\"content\":{\"type\":\"text\",\"text\":\"\"}}}}\n\n"
       "event: content-delta\ndata: {\"type\":\"content-delta\",\"index\":0,\"delta\":{\"message\":"
       "{\"content\":{\"text\":\"Hi\"}}}}\n\n"
       "event: content-end\ndata: {\"type\":\"content-end\",\"index\":0}\n\n"
       "event: message-end\ndata: {\"type\":\"message-end\",\"delta\":{\"finish_reason\":"
       "\"COMPLETE\"}}\n\n",
       R"({"message":"Wrong key."})"},
      {"bedrock_converse", bedrock_stream(), R"({"message":"Wrong key."})"},
  };
  return all;
}

const Sample* sample_of(std::string_view wire) {
  for (const Sample& sample : samples()) {
    if (sample.wire == wire) return &sample;
  }
  return nullptr;
}

TEST(Answers, OfEveryProviderAreRead) {
  for (const model::Provider& row : model::providers()) {
    if (row.dialect == model::Dialect::none) continue;
    SCOPED_TRACE(row.id);
    const std::string_view name = model::row_of(row.dialect).wire;
    const adapter::Wire* wire = adapter::find_wire(name);
    const Sample* sample = sample_of(name);
    ASSERT_NE(wire, nullptr);
    ASSERT_NE(sample, nullptr);
    CountingIds ids("id-");
    test::Collector events;
    adapter::Decoder decoder(*wire, {}, ids, events);
    ASSERT_TRUE(decoder.feed(sample->stream).ok());
    ASSERT_TRUE(decoder.finish().ok());
    EXPECT_TRUE(decoder.is_complete());
    EXPECT_NE(events.text().find(R"("delta":"Hi")"), std::string::npos) << events.text();
    EXPECT_EQ(events.text().find("RUN_ERROR"), std::string::npos) << events.text();
  }
}

TEST(Answers, ThatRefuseAreRead) {
  constexpr int rejected = 401;
  for (const model::Provider& row : model::providers()) {
    if (row.dialect == model::Dialect::none) continue;
    SCOPED_TRACE(row.id);
    const Sample* sample = sample_of(model::row_of(row.dialect).wire);
    ASSERT_NE(sample, nullptr);
    net::ResponseHead head;
    head.status = rejected;
    const Error error = model::error_from_response(head, sample->refusal, "", {});
    EXPECT_EQ(row_of(error.code).http_status, rejected);
    EXPECT_NE(error.message.find("Wrong key."), std::string::npos) << error.message;
  }
}

class HostedCalls final : public event::EventSink {
 public:
  void on_event(const event::Event& event) override {
    const auto* call = std::get_if<event::ToolStart>(&event.body);
    if (call != nullptr && call->hosted) names.emplace_back(call->name);
  }
  std::vector<std::string> names;
};

// Nova 2 gives the caller's calls a type as well.
TEST(Answers, SayWhichCallsBedrockRuns) {
  const auto call = [](std::string_view index, std::string_view name, std::string_view type) {
    std::string start =
        R"({"contentBlockIndex":)" + std::string(index) + R"(,"start":{"toolUse":{)";
    start.append(R"("toolUseId":"t)").append(index).append(R"(","name":")").append(name);
    start.append(R"(","type":")").append(type).append(R"("}}})");
    return test::aws_message({{":message-type", "event"}, {":event-type", "contentBlockStart"}},
                             start);
  };
  CountingIds ids("id-");
  HostedCalls calls;
  adapter::Decoder decoder(*adapter::find_wire("bedrock_converse"), {}, ids, calls);
  ASSERT_TRUE(decoder
                  .feed(call("0", "nova_code_interpreter", "server_tool_use") +
                        call("1", "weather", "tool_use"))
                  .ok());
  ASSERT_TRUE(decoder.finish().ok());
  EXPECT_EQ(calls.names, std::vector<std::string>{"nova_code_interpreter"});
}

// A model's name stays one segment of the path.
TEST(Addresses, KeepTheirHost) {
  for (const model::Provider& row : model::providers()) {
    if (row.dialect == model::Dialect::none || row.base_url.empty()) continue;
    if (row.base_url.find('{') != std::string_view::npos) continue;
    SCOPED_TRACE(row.id);
    const auto built =
        test::build(test::settings_of(row.id), test::question("../..//evil.example/@x?#"));
    ASSERT_TRUE(built.ok()) << built.error().message;
    EXPECT_TRUE(built.value().request.url.starts_with(row.base_url)) << built.value().request.url;
    EXPECT_EQ(built.value().request.url.find("evil.example/"), std::string::npos);
  }
}

}  // namespace
}  // namespace millrace
