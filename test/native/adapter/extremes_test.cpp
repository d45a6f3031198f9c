// Every wire: ten thousand parts, large parts, an end without a beginning, two ends.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "adapter/decoder.hpp"
#include "support/aws_event_stream.hpp"
#include "support/collect.hpp"
#include "support/cost.hpp"

namespace millrace {
namespace {

// Records are separated by line feeds; "$" stands for a number, "%" for a text.
struct WireRow {
  std::string_view wire;
  std::string_view begin;
  std::string_view call;
  std::string_view text;
  std::string_view end;
};

constexpr std::array<WireRow, 11> wire_rows{{
    {"openai_chat", R"({"choices":[{"index":0,"delta":{"role":"assistant"}}]})",
     R"({"choices":[{"index":0,"delta":{"tool_calls":[{"index":$,"id":"c$","function":{"name":"f","arguments":"{}"}}]}}]})",
     R"({"choices":[{"index":0,"delta":{"content":"%"}}]})",
     R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})"},
    {"mistral", R"({"choices":[{"index":0,"delta":{"role":"assistant"}}]})",
     R"({"choices":[{"index":0,"delta":{"tool_calls":[{"index":$,"id":"c$","function":{"name":"f","arguments":"{}"}}]}}]})",
     R"({"choices":[{"index":0,"delta":{"content":[{"type":"text","text":"%"}]}}]})",
     R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})"},
    {"openai_responses", R"({"type":"response.created","response":{"id":"r"}})",
     R"({"type":"response.output_item.done","output_index":$,"item":{"type":"function_call","id":"f$","call_id":"c$","name":"f","arguments":"{}"}})",
     R"({"type":"response.output_text.delta","item_id":"m","content_index":0,"delta":"%"})",
     R"({"type":"response.completed","response":{"id":"r","status":"completed","output":[]}})"},
    {"anthropic", R"({"type":"message_start","message":{"id":"m","content":[]}})",
     R"({"type":"content_block_start","index":$,"content_block":{"type":"tool_use","id":"c$","name":"f","input":{}}}
{"type":"content_block_stop","index":$})",
     R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"%"}})",
     R"({"type":"message_delta","delta":{"stop_reason":"end_turn"}}
{"type":"message_stop"})"},
    {"gemini", R"({"responseId":"r","candidates":[]})",
     R"({"candidates":[{"content":{"parts":[{"functionCall":{"id":"c$","name":"f","args":{}}}]}}]})",
     R"({"candidates":[{"content":{"parts":[{"text":"%"}]}}]})",
     R"({"candidates":[{"content":{"parts":[]},"finishReason":"STOP"}]})"},
    {"gemini_interactions",
     R"({"event_type":"interaction.start","interaction":{"id":"i","status":"in_progress"}})",
     R"({"event_type":"step.start","index":$,"step":{"type":"function_call","id":"c$","name":"f"}}
{"event_type":"step.stop","index":$})",
     R"({"event_type":"step.delta","index":0,"delta":{"type":"text","text":"%"}})",
     R"({"event_type":"interaction.complete","interaction":{"id":"i","status":"completed"}})"},
    {"bedrock_converse", R"({"messageStart":{"role":"assistant"}})",
     R"({"contentBlockStart":{"contentBlockIndex":$,"start":{"toolUse":{"toolUseId":"c$","name":"f"}}}}
{"contentBlockStop":{"contentBlockIndex":$}})",
     R"({"contentBlockDelta":{"contentBlockIndex":0,"delta":{"text":"%"}}})",
     R"({"messageStop":{"stopReason":"end_turn"}})"},
    {"cohere", R"({"type":"message-start","id":"c","delta":{"message":{"role":"assistant"}}})",
     R"({"type":"tool-call-start","index":$,"delta":{"message":{"tool_calls":{"id":"c$","function":{"name":"f","arguments":"{}"}}}}}
{"type":"tool-call-end","index":$})",
     R"({"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"%"}}}})",
     R"({"type":"message-end","delta":{"finish_reason":"COMPLETE"}})"},
    {"ollama", R"({"message":{"role":"assistant","content":""},"done":false})",
     R"({"message":{"content":"","tool_calls":[{"id":"c$","function":{"name":"f","arguments":{}}}]},"done":false})",
     R"({"message":{"content":"%"},"done":false})",
     R"({"message":{"content":""},"done":true,"done_reason":"stop"})"},
    {"langgraph", "[]",
     R"([{"type":"ai","id":"m$","content":"","tool_calls":[{"id":"c$","name":"f","args":{}}]},{}])",
     R"([{"type":"AIMessageChunk","id":"m","content":"%"},{}])", "[]"},
    {"ag_ui", R"({"type":"RUN_STARTED","threadId":"t","runId":"r"})",
     R"({"type":"TOOL_CALL_START","toolCallId":"c$","toolCallName":"f"}
{"type":"TOOL_CALL_END","toolCallId":"c$"})",
     R"({"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"%"})",
     R"({"type":"RUN_FINISHED","threadId":"t","runId":"r"})"},
}};

std::string filled(std::string_view pattern, char mark, std::string_view value) {
  std::string out;
  for (const char c : pattern) {
    if (c == mark) {
      out.append(value);
    } else {
      out.push_back(c);
    }
  }
  return out;
}

// Frames of the wire for records that stand on lines of their own.
std::string framed(std::string_view wire, std::string_view records) {
  std::string out;
  while (!records.empty()) {
    const std::size_t end = std::min(records.find('\n'), records.size());
    const std::string_view record = records.substr(0, end);
    records.remove_prefix(std::min(end + 1, records.size()));
    if (wire == "ollama") {
      out.append(record).append("\n");
    } else if (wire == "bedrock_converse") {
      const std::size_t name = record.find('"', 2);
      const std::string_view value = record.substr(name + 2, record.size() - name - 3);
      out.append(test::aws_message(
          {{":message-type", "event"}, {":event-type", record.substr(2, name - 2)}}, value));
    } else {
      out.append(wire == "langgraph" ? "event: messages\n" : "");
      out.append("data: ").append(record).append("\n\n");
    }
  }
  return out;
}

std::vector<std::string> decode(std::string_view wire, const std::string& body) {
  CountingIds ids("id-");
  test::Collector events;
  adapter::DecoderOptions options;
  options.details = true;
  options.calls_side_by_side = true;
  adapter::Decoder decoder(*adapter::find_wire(wire), options, ids, events);
  constexpr std::size_t step = 64UL * 1024UL;
  for (std::size_t at = 0; at < body.size() && !decoder.done(); at += step) {
    EXPECT_TRUE(decoder.feed(std::string_view(body).substr(at, step)).ok());
  }
  EXPECT_TRUE(decoder.finish().ok());
  return events.lines;
}

std::size_t count_of(const std::vector<std::string>& lines, std::string_view start) {
  return static_cast<std::size_t>(
      std::count_if(lines.begin(), lines.end(),
                    [&](const std::string& line) { return line.starts_with(start); }));
}

std::string errors_of(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) {
    const bool is_error = line.find("RUN_ERROR") != std::string::npos;
    if (is_error || line.find("@warning") != std::string::npos) out.append(line).append("\n");
  }
  return out;
}

// The records with so many more members in each of their objects.
std::string widened(std::string_view records, std::size_t members) {
  std::string more;
  for (std::size_t at = 0; at < members; ++at) {
    more.append(more.empty() ? "" : ",").append("\"m").append(std::to_string(at)).append("\":1");
  }
  std::string out;
  for (std::size_t at = 0; at < records.size(); ++at) {
    out.push_back(records[at]);
    const bool is_text = at > 0 && records[at - 1] == '"';
    if (records[at] != '{' || is_text) continue;
    out.append(more).append(records[at + 1] == '}' ? "" : ",");
  }
  return out;
}

// A stream whose records have `members` unknown members more.
void decode_widened(const WireRow& row, std::string_view records, std::size_t members) {
  (void)decode(row.wire, framed(row.wire, row.begin) + framed(row.wire, widened(records, members)) +
                             framed(row.wire, row.end));
}

// A test of each wire: together they are slow under sanitizers.
class ManyMembers : public testing::TestWithParam<WireRow> {};

constexpr std::string_view call_start = R"({"type":"TOOL_CALL_START")";
constexpr std::string_view text_piece = R"({"type":"TEXT_MESSAGE_CONTENT")";

}  // namespace

// All of them, or an error that names the limit.
TEST(Extremes, TenThousandCalls) {
  constexpr std::size_t most = 10'000;
  for (const WireRow& row : wire_rows) {
    std::string body = framed(row.wire, row.begin);
    for (std::size_t at = 0; at < most; ++at) {
      body.append(framed(row.wire, filled(row.call, '$', std::to_string(at))));
    }
    body.append(framed(row.wire, row.end));
    const auto lines = decode(row.wire, body);
    const std::string errors = errors_of(lines);
    const bool is_named = errors.find("too_many_parts") != std::string::npos;
    EXPECT_TRUE(is_named || count_of(lines, call_start) == most)
        << row.wire << ": " << count_of(lines, call_start) << " " << errors.substr(0, 500);
  }
}

TEST(Extremes, EightMebibytesOfText) {
  constexpr std::size_t piece = 1024UL * 1024UL;
  for (const WireRow& row : wire_rows) {
    std::string body = framed(row.wire, row.begin);
    for (const char c : std::string_view("abcdefgh")) {
      body.append(framed(row.wire, filled(row.text, '%', std::string(piece, c))));
    }
    body.append(framed(row.wire, row.end));
    const auto lines = decode(row.wire, body);
    std::size_t bytes = 0;
    for (const std::string& line : lines) {
      if (line.starts_with(text_piece)) bytes += line.size();
    }
    EXPECT_GE(bytes, 8 * piece) << row.wire << errors_of(lines).substr(0, 500);
    EXPECT_EQ(errors_of(lines), "") << row.wire;
  }
}

// One record of that size is beyond the limit of the frames.
TEST(Extremes, ARecordBeyondTheLimitIsAnError) {
  for (const WireRow& row : wire_rows) {
    const std::string text(9UL * 1024UL * 1024UL, 'a');
    const std::string body =
        framed(row.wire, row.begin) + framed(row.wire, filled(row.text, '%', text));
    const auto lines = decode(row.wire, body);
    EXPECT_EQ(count_of(lines, R"({"type":"RUN_ERROR")"), 1U) << row.wire;
    EXPECT_EQ(count_of(lines, text_piece), 0U) << row.wire;
  }
}

TEST(Extremes, AnEndWithoutABeginning) {
  for (const WireRow& row : wire_rows) {
    const auto lines = decode(row.wire, framed(row.wire, row.end));
    EXPECT_EQ(count_of(lines, "{\"type\":\"TEXT_"), 0U) << row.wire;
    EXPECT_EQ(count_of(lines, call_start), 0U) << row.wire;
    EXPECT_LE(count_of(lines, R"({"type":"RUN_ERROR")"), 1U) << row.wire;
  }
}

TEST_P(ManyMembers, CostWorkThatGrowsWithThem) {
  const WireRow& row = GetParam();
  for (const std::string_view pattern : {row.begin, row.call, row.text, row.end}) {
    const std::string records = filled(filled(pattern, '$', "0"), '%', "words");
    const auto decodes = [&](std::size_t members) { decode_widened(row, records, members); };
    EXPECT_LE(test::growth_of(decodes, 2'500), test::most_growth) << row.wire << ": " << records;
  }
}

INSTANTIATE_TEST_SUITE_P(Extremes, ManyMembers, testing::ValuesIn(wire_rows),
                         [](const auto& info) { return std::string(info.param.wire); });

// Nothing is given twice, and what comes between them is given.
TEST(Extremes, TwoEnds) {
  for (const WireRow& row : wire_rows) {
    if (row.wire == "ag_ui") continue;  // see ag_ui.md: a source may have several runs
    const std::string text = framed(row.wire, filled(row.text, '%', "words"));
    const std::string end = framed(row.wire, row.end);
    const auto lines = decode(row.wire, framed(row.wire, row.begin) + text + end + text + end);
    EXPECT_EQ(count_of(lines, text_piece), 2U) << row.wire << errors_of(lines);
    EXPECT_EQ(count_of(lines, R"({"type":"RUN_ERROR")"), 0U) << row.wire << errors_of(lines);
  }
}

}  // namespace millrace
