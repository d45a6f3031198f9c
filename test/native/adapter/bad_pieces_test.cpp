// Pieces of an answer that come in an order or of a type that the vendor does not send.
#include <gtest/gtest.h>

#include <array>
#include <initializer_list>
#include <string>
#include <string_view>

#include "adapter/decoder.hpp"
#include "support/collect.hpp"

namespace millrace {
namespace {

std::string decode_records(std::string_view wire, std::initializer_list<std::string_view> records,
                           bool ends = true) {
  CountingIds ids("id-");
  test::Collector events;
  adapter::DecoderOptions options;
  options.details = true;
  adapter::Decoder decoder(*adapter::find_wire(wire), options, ids, events);
  for (const std::string_view record : records) {
    const std::string_view frame = wire == "ollama" ? "" : "data: ";  // one record a line there
    EXPECT_TRUE(decoder.feed(std::string(frame).append(record).append("\n\n")).ok());
  }
  if (ends) {
    EXPECT_TRUE(decoder.finish().ok());
  }
  return events.text(true);
}

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

constexpr std::string_view created = R"({"type":"response.created","response":{"id":"r"}})";
constexpr std::string_view words_done =
    R"({"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"m1",)"
    R"("role":"assistant","status":"completed","content":[{"type":"output_text","text":"AB"}]}})";
constexpr std::string_view words_added =
    R"({"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m1",)"
    R"("role":"assistant","content":[]}})";
constexpr std::string_view words_delta =
    R"({"type":"response.output_text.delta","item_id":"m1","output_index":0,"content_index":0,)"
    R"("delta":"AB"})";
constexpr std::string_view words_text =
    R"({"type":"response.output_text.done","item_id":"m1","output_index":0,"content_index":0,)"
    R"("text":"AB"})";
constexpr std::string_view words_completed =
    R"({"type":"response.completed","response":{"id":"r","status":"completed","output":[)"
    R"({"type":"message","id":"m1","role":"assistant","content":[)"
    R"({"type":"output_text","text":"AB"}]}]}})";
constexpr std::string_view late_sentence = "A piece of an item that had already ended";

}  // namespace

TEST(LateItems, ShowTheirWordsOnce) {
  const std::string events =
      decode_records("openai_responses", {created, words_done, words_added, words_delta,
                                          words_delta, words_text, words_done, words_completed});
  EXPECT_EQ(count_of(events, R"("delta":"AB")"), 1U) << events;
  EXPECT_EQ(count_of(events, "TEXT_MESSAGE_START"), 1U) << events;
  EXPECT_EQ(count_of(events, late_sentence), 1U) << events;
}

TEST(LateItems, ShowTheirThoughtsAndCallsOnce) {
  const std::string events = decode_records(
      "openai_responses",
      {created,
       R"({"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning",)"
       R"("id":"t1","summary":[{"type":"summary_text","text":"Hm"}]}})",
       R"({"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning",)"
       R"("id":"t1","summary":[]}})",
       R"({"type":"response.reasoning_summary_text.delta","item_id":"t1","output_index":0,)"
       R"("summary_index":0,"delta":"Hm"})",
       R"({"type":"response.output_item.done","output_index":1,"item":{"type":"function_call",)"
       R"("id":"f1","call_id":"c1","name":"look","arguments":"{}"}})",
       R"({"type":"response.output_item.added","output_index":1,"item":{"type":"function_call",)"
       R"("id":"f1","call_id":"c1","name":"look","arguments":""}})",
       R"({"type":"response.function_call_arguments.delta","item_id":"f1","output_index":1,)"
       R"("delta":"{}"})",
       R"({"type":"response.completed","response":{"id":"r","status":"completed","output":[]}})"});
  EXPECT_EQ(count_of(events, R"("delta":"Hm")"), 1U) << events;
  EXPECT_EQ(count_of(events, "TOOL_CALL_START"), 1U) << events;
  EXPECT_EQ(count_of(events, late_sentence), 2U) << events;
}

TEST(LateItems, BeginAnewWithTheNextResponse) {
  const std::string events = decode_records(
      "openai_responses",
      {created, words_done, created, words_added, words_delta, words_text, words_done}, false);
  EXPECT_EQ(count_of(events, R"("delta":"AB")"), 2U) << events;
  EXPECT_EQ(count_of(events, late_sentence), 0U) << events;
}

// Neither are words lost that the end of their item left out, nor items that share an id.
TEST(LateItems, KeepWhatIsNew) {
  const std::string empty =
      R"({"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"m1",)"
      R"("role":"assistant","content":[]}})";
  const std::string words =
      decode_records("openai_responses", {created, empty, words_delta, words_delta}, false);
  EXPECT_EQ(count_of(words, R"("delta":"AB")"), 2U) << words;
  const std::string second =
      R"({"type":"response.output_item.added","item":{"type":"message","id":"m1","content":[]}})";
  const std::string delta = R"({"type":"response.output_text.delta","item_id":"m1","delta":"CD"})";
  const std::string end =
      R"({"type":"response.output_item.done","item":{"type":"message","id":"m1","content":[)"
      R"({"type":"output_text","text":"CD"}]}})";
  const std::string events =
      decode_records("openai_responses", {created, second, delta, end, second, delta, end}, false);
  EXPECT_EQ(count_of(events, R"("delta":"CD")"), 2U) << events;
  EXPECT_EQ(count_of(events, late_sentence), 0U) << events;
}

namespace {

struct BadMember {
  std::string_view wire;
  std::string_view record;  // "$" stands for the value
  std::string_view name;
};

constexpr std::array<BadMember, 34> wrong_types{{
    {"openai_chat", R"({"choices":[{"index":0,"delta":{"content":$}}]})", "delta.content"},
    {"openai_chat", R"({"choices":[{"index":0,"delta":{"tool_calls":$}}]})", "delta.tool_calls"},
    {"openai_chat", R"({"choices":[{"index":0,"delta":{"tool_calls":[$]}}]})",
     "delta.tool_calls[]"},
    {"openai_responses", R"({"type":"response.output_text.delta","item_id":"m","delta":$})",
     "output_text.delta.delta"},
    {"openai_responses", R"({"type":"response.output_text.done","item_id":"m","text":$})",
     "output_text.done.text"},
    {"openai_responses",
     R"({"type":"response.reasoning_summary_text.delta","item_id":"t","delta":$})",
     "reasoning_summary_text.delta.delta"},
    {"openai_responses",
     R"({"type":"response.output_item.done","item":{"type":"message","id":"m","content":$}})",
     "message.content"},
    {"openai_responses",
     R"({"type":"response.output_item.done","item":{"type":"message","id":"m","content":[)"
     R"({"type":"output_text","text":$}]}})",
     "output_text.text"},
    {"anthropic", R"({"type":"message_start","message":{"id":"m","content":$}})",
     "message.content"},
    {"anthropic",
     R"({"type":"content_block_start","index":0,"content_block":{"type":"text","text":$}})",
     "text.text"},
    {"anthropic",
     R"({"type":"content_block_start","index":0,"content_block":{"type":"thinking",)"
     R"("thinking":$}})",
     "thinking.thinking"},
    {"anthropic",
     R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":$}})",
     "delta.text"},
    {"anthropic",
     R"({"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":$}})",
     "delta.thinking"},
    {"anthropic", R"({"type":"message_delta","delta":{"stop_reason":$}})", "delta.stop_reason"},
    {"openai_responses", R"({"type":"response.refusal.delta","item_id":"m","delta":$})",
     "refusal.delta.delta"},
    {"openai_chat", R"({"choices":[{"index":0,"delta":{"refusal":$}}]})", "delta.refusal"},
    {"openai_chat", R"({"choices":[{"index":0,"delta":{"reasoning_content":$}}]})",
     "delta.reasoning_content"},
    {"openai_chat", R"({"choices":[{"index":0,"delta":{"reasoning":$}}]})", "delta.reasoning"},
    {"openai_chat", R"({"choices":[{"index":0,"delta":{"reasoning_text":$}}]})",
     "delta.reasoning_text"},
    {"openai_chat", R"({"choices":[{"index":0,"delta":{"reasoning_details":$}}]})",
     "delta.reasoning_details"},
    {"openai_chat", R"({"choices":[{"index":0,"delta":{"images":$}}]})", "delta.images"},
    {"gemini", R"({"candidates":$,"usageMetadata":{}})", "answer.candidates"},
    {"gemini", R"({"candidates":[{"content":{"parts":$}}]})", "content.parts"},
    {"gemini", R"({"candidates":[{"content":{"parts":[{"text":$}]}}]})", "part.text"},
    {"gemini", R"({"candidates":[{"content":{"parts":[{"text":"A","thought":[$]}]}}]})",
     "part.thought"},
    {"gemini", R"({"candidates":[{"content":{"parts":[{"text":"A","thoughtSignature":$}]}}]})",
     "part.thoughtSignature"},
    {"gemini", R"({"candidates":[{"content":{"parts":[{"functionCall":{"name":$}}]}}]})",
     "functionCall.name"},
    {"gemini", R"({"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","id":$}}]}}]})",
     "functionCall.id"},
    {"gemini",
     R"({"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":[$]}}]}}]})",
     "functionCall.args"},
    {"gemini", R"({"candidates":[{"content":{"parts":[{"functionCall":[$]}]}}]})",
     "part.functionCall"},
    {"gemini", R"({"candidates":[{"content":{"parts":[{"executableCode":{"code":$}}]}}]})",
     "executableCode.code"},
    {"gemini", R"({"candidates":[{"content":{"parts":[{"codeExecutionResult":{"output":$}}]}}]})",
     "codeExecutionResult.output"},
    {"gemini", R"({"candidates":[{"content":[$]}]})", "candidate.content"},
    {"gemini", R"({"candidates":[{"finishReason":$}]})", "candidate.finishReason"},
}};

std::string with_value(std::string_view record, std::string_view value) {
  std::string text(record);
  return text.replace(text.find('$'), 1, value);
}

}  // namespace

TEST(WrongTypes, AreNamed) {
  for (const BadMember& row : wrong_types) {
    const bool is_call = row.name.starts_with("delta.tool_calls");
    // An object in the place of calls is one call.
    for (const std::string_view value : {"42", "true", is_call ? R"("WORDS")" : R"({"a":"b"})"}) {
      const std::string record = with_value(row.record, value);
      const std::string events = decode_records(row.wire, {record, record});
      EXPECT_EQ(count_of(events, "\"wrongTypes\":[\"" + std::string(row.name) + "\"]"), 1U)
          << record << "\n"
          << events;
    }
  }
}

// A delta that is none is named beside the warning that its block never began.
TEST(WrongTypes, LeaveTheWarningOfABlockThatNeverBegan) {
  const std::string events =
      decode_records("anthropic", {R"({"type":"content_block_delta","index":0,"delta":"WORDS"})"});
  EXPECT_EQ(count_of(events, "never started was skipped"), 1U) << events;
  EXPECT_EQ(count_of(events, R"("wrongTypes":["content_block_delta.delta"])"), 1U) << events;
}

// What can only mean a text is one.
TEST(WrongTypes, CarryAPlainText) {
  const std::string responses = decode_records(
      "openai_responses",
      {created, R"({"type":"response.output_item.done","output_index":0,"item":{"type":"message",)"
                R"("id":"m1","content":"PLAIN"}})"},
      false);
  EXPECT_EQ(count_of(responses, R"("delta":"PLAIN")"), 1U) << responses;
  const std::string claude = decode_records(
      "anthropic", {R"({"type":"message_start","message":{"id":"m","content":"PLAIN"}})"}, false);
  EXPECT_EQ(count_of(claude, R"("delta":"PLAIN")"), 1U) << claude;
}

namespace {

// Those of items, blocks and calls go back to the provider, but where nothing of these is shown.
constexpr std::array<BadMember, 14> unknown_members{{
    {"openai_chat", R"({"choices":[{"delta":{"content":"A","zz":$}}]})", "delta.zz"},
    {"openai_chat", R"({"choices":[{"delta":{"audio":{"id":"a","zz":$}}}]})", "audio.zz"},
    {"openai_chat",
     R"({"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"look"}},)"
     R"({"index":0,"function":{"arguments":"{}"},"zz":$}]}}]})",
     "tool_calls.zz"},
    {"openai_chat",
     R"({"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"look"}},)"
     R"({"index":0,"function":{"arguments":"{}","zz":$}}]}}]})",
     "tool_calls.function.zz"},
    {"anthropic",
     R"({"type":"message_start","message":{"id":"m","content":[{"type":"text","text":"","zz":$}]}})",
     "text.zz"},
    {"anthropic",
     R"({"type":"message_start","message":{"id":"m","content":[)"
     R"({"type":"thinking","thinking":"","zz":$}]}})",
     "thinking.zz"},
    {"openai_responses",
     R"({"type":"response.output_item.done","item":{"type":"reasoning","zz":$}})", "reasoning.zz"},
    {"openai_responses", R"({"type":"response.created","response":{"id":"r"},"zz":$})",
     "created.zz"},
    {"openai_responses",
     R"({"type":"response.output_item.added","item":{"type":"message","id":"m"},"zz":$})",
     "output_item.added.zz"},
    {"openai_responses", R"({"type":"response.output_text.done","item_id":"m","text":"A","zz":$})",
     "output_text.done.zz"},
    {"anthropic", R"({"type":"message_start","message":{"id":"m"},"zz":$})", "message_start.zz"},
    {"anthropic",
     R"({"type":"content_block_start","index":0,"content_block":{"type":"text","text":"A"},)"
     R"("zz":$})",
     "content_block_start.zz"},
    {"anthropic",
     R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"A"},)"
     R"("zz":$})",
     "content_block_delta.zz"},
    {"anthropic", R"({"type":"message_stop","zz":$})", "message_stop.zz"},
}};

}  // namespace

TEST(UnknownMembers, OfDeltasAndEventsAreNamed) {
  for (const BadMember& row : unknown_members) {
    const std::string record = with_value(row.record, "7");
    const std::string events = decode_records(row.wire, {record, record});
    EXPECT_EQ(count_of(events, "\"unknownMembers\":[\"" + std::string(row.name) + "\"]"), 1U)
        << record << "\n"
        << events;
  }
}

TEST(SecondStarts, OfAMessageCountNothing) {
  const auto start = [](std::string_view input) {
    return std::string(R"({"type":"message_start","message":{"id":"m","content":[],"usage":)")
        .append(R"({"input_tokens":)")
        .append(input)
        .append(R"(,"output_tokens":1}}})");
  };
  const std::string events =
      decode_records("anthropic", {start("10"), start("99"),
                                   R"({"type":"content_block_delta","index":0,)"
                                   R"("delta":{"type":"text_delta","text":"A"}})",
                                   R"({"type":"message_delta","delta":{"stop_reason":"end_turn"},)"
                                   R"("usage":{"output_tokens":2}})",
                                   R"({"type":"message_stop"})"});
  EXPECT_EQ(count_of(events, R"("inputTokens":10,"outputTokens":2)"), 1U) << events;
}

// What a second end says again was paid for once.
TEST(SecondEnds, CountTheirUsageOnce) {
  struct Case {
    std::string_view wire;
    std::string_view text;
    std::string_view end;
  };
  constexpr std::array<Case, 5> cases{{
      {"openai_chat", R"({"id":"c","choices":[{"index":0,"delta":{"content":"A"}}]})",
       R"({"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":)"
       R"({"prompt_tokens":10,"completion_tokens":2}})"},
      {"openai_responses", words_done,
       R"({"type":"response.completed","response":{"id":"r","output":[],"usage":)"
       R"({"input_tokens":10,"output_tokens":2,"total_tokens":12}}})"},
      {"anthropic",
       R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"A"}})",
       R"({"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":)"
       R"({"input_tokens":10,"output_tokens":2}})"},
      {"cohere",
       R"({"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"A"}}}})",
       R"({"type":"message-end","delta":{"finish_reason":"COMPLETE","usage":)"
       R"({"tokens":{"input_tokens":10,"output_tokens":2}}}})"},
      {"ollama", R"({"model":"m","message":{"role":"assistant","content":"A"},"done":false})",
       R"({"model":"m","message":{"role":"assistant","content":""},"done":true,)"
       R"("done_reason":"stop","prompt_eval_count":10,"eval_count":2})"},
  }};
  for (const Case& one : cases) {
    const std::string once = decode_records(one.wire, {one.text, one.end});
    const std::string twice = decode_records(one.wire, {one.text, one.end, one.end});
    EXPECT_EQ(count_of(once, "@usage"), 1U) << one.wire << once;
    EXPECT_EQ(count_of(twice, "@usage"), 1U) << one.wire << twice;
  }
}

TEST(SecondEnds, OfAnotherResponseAddTheirUsage) {
  const auto response = [](std::string_view id, std::string_view input, std::string_view output) {
    return R"({"type":"response.completed","response":{"id":")" + std::string(id) +
           R"(","output":[],"usage":{"input_tokens":)" + std::string(input) +
           R"(,"output_tokens":)" + std::string(output) + R"(,"input_tokens_details":)" +
           R"({"cached_tokens":)" + std::string(output) + "}}}}";
  };
  const std::string first = response("r", "100", "10");
  const std::string second = response("s", "200", "20");
  const std::string third = response("t", "1", "2");
  const std::string events = decode_records(
      "openai_responses", {created, words_done, first, words_done, second, words_done, third});
  EXPECT_EQ(count_of(events, R"("inputTokens":100,"outputTokens":10,)"), 1U) << events;
  EXPECT_EQ(count_of(events, R"("inputTokens":300,"outputTokens":30,)"), 1U) << events;
  EXPECT_EQ(count_of(events, R"("inputTokens":301,"outputTokens":32,)"), 1U) << events;
}

TEST(SecondEnds, OfAResponseAreNamed) {
  const std::string events =
      decode_records("openai_responses", {created, words_done, words_completed, words_completed});
  EXPECT_EQ(count_of(events, "A response that had already ended"), 1U) << events;
  // The next response of the same stream is none.
  const std::string next = decode_records(
      "openai_responses", {created, words_done, words_completed, created, words_completed});
  EXPECT_EQ(count_of(next, "A response that had already ended"), 0U) << next;
}

// Their further members go back with them.
TEST(ChatImages, KeepTheirMembers) {
  const auto state_of = [](std::string_view image) {
    const std::string delta = R"({"choices":[{"delta":{"images":[)" + std::string(image) + "]}}]}";
    const std::string events = decode_records("openai_chat", {delta});
    const std::size_t begin = events.find(R"("state":)");
    return begin == std::string::npos ? events
                                      : events.substr(begin, events.find('\n', begin) - begin);
  };
  EXPECT_EQ(state_of(R"({"type":"image_url","image_url":{"url":"u","detail":"low"},"index":0})"),
            R"("state":{"type":"image_url","image_url":{"url":"u","detail":"low"},"index":0}})");
  EXPECT_EQ(state_of(R"({"image_url":null,"image":"u","zz":1})"),
            R"("state":{"type":"image_url","image_url":{"url":"u"},"zz":1}})");
  EXPECT_EQ(state_of(R"({"image_url":"u","url":"v"})"),
            R"("state":{"type":"image_url","image_url":{"url":"u"},"url":"v"}})");
  EXPECT_EQ(state_of(R"("u")"), R"("state":{"type":"image_url","image_url":{"url":"u"}}})");
}

TEST(ChatImages, WithoutAnAddressAreNamed) {
  for (const std::string_view image : {R"({"index":0})", R"({"image_url":{"url":""}})", "7"}) {
    const std::string delta =
        R"({"choices":[{"delta":{"images":[null,)" + std::string(image) + "]}}]}";
    const std::string events = decode_records("openai_chat", {delta});
    EXPECT_EQ(count_of(events, "An image of the answer was left out"), 1U) << events;
  }
  // A part of the content goes by as it is.
  const std::string part = decode_records(
      "openai_chat", {R"({"choices":[{"delta":{"content":[{"type":"image_file","id":"i"}]}}]})"});
  EXPECT_EQ(count_of(part, R"("kind":"content_part")"), 1U) << part;
}

TEST(InteractionSteps, NameTheSecondSignature) {
  const std::string_view start =
      R"({"event_type":"step.start","index":0,"step":{"type":"thought"}})";
  const auto signature = [](std::string_view value) {
    return R"({"event_type":"step.delta","index":0,"delta":{"type":"thought_signature",)"
           R"("signature":")" +
           std::string(value) + "\"}}";
  };
  const std::string first = signature("S1");
  const std::string second = signature("S2");
  const std::string signatures =
      decode_records("gemini_interactions", {start, first, first, second});
  EXPECT_EQ(count_of(signatures, "A step has two signatures"), 1U) << signatures;
}

TEST(InteractionSteps, KeepTheirSignatures) {
  const auto events_of = [](std::string_view step, std::string_view delta) {
    const std::string start =
        R"({"event_type":"step.start","index":0,"step":)" + std::string(step) + "}";
    const std::string piece =
        R"({"event_type":"step.delta","index":0,"delta":)" + std::string(delta) + "}";
    return decode_records("gemini_interactions",
                          {start, piece, R"({"event_type":"step.stop","index":0})",
                           R"({"event_type":"interaction.complete","interaction":)"
                           R"({"id":"i","status":"completed"}})"});
  };
  const std::string text =
      events_of(R"({"type":"model_output","signature":"SIG"})", R"({"type":"text","text":"A"})");
  EXPECT_EQ(count_of(text, R"("subtype":"message")"), 1U) << text;
  EXPECT_EQ(count_of(text, "SIG"), 1U) << text;
  const std::string late =
      events_of(R"({"type":"model_output"})", R"({"type":"thought_signature","signature":"SIG"})");
  EXPECT_EQ(count_of(late, "SIG"), 1U) << late;
  const std::string result =
      events_of(R"({"type":"google_search_result","call_id":"c","signature":"SIG"})",
                R"({"type":"google_search_result","result":"R"})");
  EXPECT_EQ(count_of(result, R"("call_id":"c","signature":"SIG"})"), 1U) << result;
  const std::string shown =
      events_of(R"({"type":"google_search_result","call_id":"c","result":"R","signature":"SIG"})",
                R"({"type":"text","text":""})");
  EXPECT_EQ(count_of(shown, "SIG"), 1U) << shown;
  const std::string other = events_of(R"({"type":"newer","a":1,"signature":"SIG"})", "{}");
  EXPECT_EQ(count_of(other, "SIG"), 1U) << other;
}

// Some servers count with every record, and leave out later what they counted before.
TEST(Counts, KeepWhatALaterReportLacks) {
  const std::string chat = decode_records(
      "openai_chat",
      {R"({"id":"c","choices":[{"index":0,"delta":{"content":"A"}}],"usage":{"prompt_tokens":9,)"
       R"("completion_tokens":1,"prompt_tokens_details":{"cached_tokens":4,"zz":1},"queue":0.5}})",
       R"({"id":"c","choices":[{"index":0,"delta":{"content":"B"}}],"usage":{"prompt_tokens":9,)"
       R"("completion_tokens":2,"prompt_tokens_details":null,"queue":null}})",
       R"({"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":)"
       R"({"prompt_tokens":9,"completion_tokens":3,"prompt_tokens_details":{"audio_tokens":0}}})"});
  for (const std::string_view part : {R"("completion_tokens":3)", R"("cached_tokens":4)",
                                      R"("zz":1)", R"("audio_tokens":0)", R"("queue":0.5)"}) {
    EXPECT_EQ(count_of(chat, part), 1U) << part << " in " << chat;
  }
  const std::string gemini = decode_records(
      "gemini", {R"({"candidates":[{"content":{"parts":[{"text":"A"}]}}],"usageMetadata":)"
                 R"({"promptTokenCount":9,"thoughtsTokenCount":5}})",
                 R"({"candidates":[{"content":{"parts":[{"text":"B"}]}}],)"
                 R"("usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":1}})",
                 R"({"candidates":[{"content":{"parts":[{"text":"C"}]}}],)"
                 R"("usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":1}})",
                 R"({"candidates":[{"content":{"parts":[{"text":"D"}]},"finishReason":"STOP"}],)"
                 R"("usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":2}})",
                 R"({"candidates":[],"usageMetadata":{"trafficType":"ON_DEMAND"}})"});
  for (const std::string_view part :
       {R"("thoughtsTokenCount":5)", R"("candidatesTokenCount":2)", R"("trafficType")"}) {
    EXPECT_EQ(count_of(gemini, part), 1U) << part << " in " << gemini;
  }
}

// The model is in the first record, the counts of an interaction that a status ends in the last.
TEST(Interactions, CountForTheModelAlsoWhereAStatusEndsThem) {
  const std::string events = decode_records(
      "gemini_interactions",
      {R"({"event_type":"interaction.created","interaction":{"id":"i","model":"gemini-x",)"
       R"("status":"in_progress"}})",
       R"({"event_type":"interaction.status_update","interaction_id":"i","status":"completed",)"
       R"("usage":{"total_tokens":3}})"});
  const std::size_t usage = events.find(R"("total_tokens":3)");
  ASSERT_NE(usage, std::string::npos) << events;
  const std::size_t line = events.rfind('\n', usage) + 1;
  EXPECT_NE(events.substr(line, events.find('\n', usage) - line).find("gemini-x"),
            std::string::npos)
      << events;
}

TEST(Interactions, KeepFurtherMembersOfOutput) {
  const std::string events = decode_records(
      "gemini_interactions",
      {R"({"event_type":"interaction.start","interaction":{"id":"i"}})",
       R"({"event_type":"step.start","index":0,"step":{"type":"model_output","zz":{"a":1}}})",
       R"({"event_type":"step.delta","index":0,"delta":{"type":"text","text":"A"}})",
       R"({"event_type":"step.stop","index":0})",
       R"({"event_type":"interaction.complete","interaction":{"id":"i","status":"completed"}})"});
  EXPECT_EQ(count_of(events, R"("zz":{"a":1})"), 1U) << events;
  EXPECT_EQ(count_of(events, R"("kind":"members")"), 1U) << events;
  EXPECT_EQ(count_of(events, "unknownMembers"), 0U) << events;
}

// OpenRouter gives the reason in the choice.
TEST(BadPieces, FailWithTheErrorOfTheirChoice) {
  for (const std::string_view reason : {R"("error")", "null"}) {
    const std::string last = R"({"id":"x","choices":[{"index":0,"delta":{"content":""},)"
                             R"("finish_reason":)" +
                             std::string(reason) +
                             R"(,"error":{"code":429,"message":"Rate limited by Acme"}}]})";
    const std::string events = decode_records(
        "openai_chat", {R"({"id":"x","choices":[{"index":0,"delta":{"content":"A"}}]})", last});
    EXPECT_EQ(count_of(events, R"("message":"Rate limited by Acme","code":"429")"), 1U) << events;
    EXPECT_EQ(count_of(events, "RUN_ERROR"), 1U) << events;
    EXPECT_EQ(count_of(events, R"("delta":"A")"), 1U) << events;
  }
}

// Servers that number each call 0 and give no ids.
TEST(BadPieces, AreSeveralCallsOfOneNumber) {
  const auto piece = [](std::string_view name, std::string_view arguments) {
    std::string record = R"({"id":"x","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,)"
                         R"("function":{"name":")" +
                         std::string(name) + R"(")";
    json::append_member(record, "arguments", arguments);
    return record + "}}]}}]}";
  };
  constexpr std::string_view end =
      R"({"id":"x","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]})";
  const std::string one = piece("f", R"({"x":1})");
  const std::string two = piece("f", R"({"x":2})");
  const std::string events = decode_records("openai_chat", {one, two, end});
  EXPECT_EQ(count_of(events, "TOOL_CALL_START"), 2U) << events;
  EXPECT_EQ(count_of(events, R"("delta":"{\"x\":2}")"), 1U) << events;
  // The same once more, and a piece that goes on, are of the call before.
  EXPECT_EQ(count_of(decode_records("openai_chat", {one, one, end}), "TOOL_CALL_START"), 1U);
  const std::string begun = piece("f", R"({"x":)");
  const std::string events_of_pieces =
      decode_records("openai_chat", {begun, piece("f", R"({"y":2}})"), end});
  EXPECT_EQ(count_of(events_of_pieces, "TOOL_CALL_START"), 1U) << events_of_pieces;
}

}  // namespace millrace
