// The order of the blocks and items of a provider's history: what is read and written again stands
// as it came, also where the history was made ready for a request.

#include <gtest/gtest.h>

#include <random>

#include "format/cohere.hpp"
#include "format/format.hpp"
#include "format/ollama.hpp"
#include "message/history.hpp"
#include "message/ordered_answers.hpp"

using namespace millrace;

namespace {

message::Messages messages_from(const std::string& format, const std::string& data) {
  CountingIds ids("id-");
  const auto read = format::from_api(*format::find_format(format), data, ids);
  EXPECT_TRUE(read.ok()) << data;
  auto messages = message::parse_messages(read.ok() ? read.value() : "[]");
  EXPECT_TRUE(messages.ok());
  return std::move(messages).value();
}

std::string sent_back(const std::string& format, const message::Messages& messages) {
  const auto text = format::to_api(*format::find_format(format), message::to_json(messages));
  return text.ok() ? text.value() : text.error().message;
}

// As for a request.
void make_ready(message::Messages& messages) {
  CountingIds ids("repaired-");
  message::repair_history(messages, ids, {message::Unmatched::dropped, true});
}

// The marks `mark1`, `mark2` ... as they stand in a text.
std::vector<int> marks_of(const std::string& text) {
  std::vector<int> marks;
  for (std::size_t at = text.find("mark"); at != std::string::npos;
       at = text.find("mark", at + 1)) {
    marks.push_back(std::stoi(text.substr(at + 4)));
  }
  return marks;
}

struct OrderRow {
  std::string name;
  std::string format;
  std::string data;
};

void PrintTo(const OrderRow& row, std::ostream* out) {
  *out << row.name;
}

const OrderRow ordered_histories[] = {
    {"ResponsesCallBehindTheOutputOfAnother", "openai_conversation",
     R"([{"type":"function_call","call_id":"a","name":"f","arguments":"{\"n\":\"mark1\"}"},
         {"type":"function_call","call_id":"b","name":"f","arguments":"{\"n\":\"mark2\"}"},
         {"type":"function_call_output","call_id":"b","output":"mark3"},
         {"type":"function_call","call_id":"c","name":"f","arguments":"{\"n\":\"mark4\"}"},
         {"type":"function_call_output","call_id":"a","output":"mark5"},
         {"type":"function_call_output","call_id":"c","output":"mark6"}])"},
    {"ResponsesTextBeforeTheOutput", "openai_conversation",
     R"([{"type":"custom_tool_call","call_id":"a","name":"f","input":"mark1"},
         {"type":"message","role":"assistant","content":"mark2"},
         {"type":"custom_tool_call_output","call_id":"a","output":"mark3"},
         {"type":"message","role":"assistant","content":"mark4"}])"},
    {"ResponsesItemBeforeTheOutput", "openai_conversation",
     R"([{"type":"function_call","call_id":"a","name":"f","arguments":"{\"n\":\"mark1\"}"},
         {"type":"compaction","encrypted_content":"mark2"},
         {"type":"compaction","encrypted_content":"mark3"},
         {"type":"function_call_output","call_id":"a","output":"mark4"},
         {"type":"function_call","call_id":"b","name":"f","arguments":"{\"n\":\"mark5\"}"},
         {"type":"function_call_output","call_id":"b","output":"mark6"}])"},
    {"ResponsesItemBehindAnOutputAlone", "openai_conversation",
     R"([{"type":"function_call","call_id":"a","name":"f","arguments":"{\"n\":\"mark1\"}"},
         {"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAAAmark2"},
         {"type":"function_call_output","call_id":"a","output":"mark3"},
         {"type":"compaction","encrypted_content":"mark4"},
         {"type":"message","role":"user","content":"mark5"}])"},
    {"AnthropicCallBetweenACallAndItsResult", "anthropic",
     R"({"messages":[{"role":"assistant","content":[
         {"type":"mcp_tool_use","id":"a","name":"f","server_name":"s","input":{"n":"mark1"}},
         {"type":"server_tool_use","id":"b","name":"web_search","input":{"n":"mark2"}},
         {"type":"web_search_tool_result","tool_use_id":"b","content":[{"url":"mark3"}]},
         {"type":"mcp_tool_result","tool_use_id":"a","content":[{"type":"text","text":"mark4"}]},
         {"type":"text","text":"mark5"}]}]})"},
    {"AnthropicCallOfTheHostBeforeAResult", "anthropic",
     R"({"messages":[{"role":"assistant","content":[
         {"type":"mcp_tool_use","id":"a","name":"f","server_name":"s","input":{"n":"mark1"}},
         {"type":"tool_use","id":"b","name":"g","input":{"n":"mark2"}},
         {"type":"mcp_tool_result","tool_use_id":"a","content":[{"type":"text","text":"mark3"}]}]},
         {"role":"user","content":[
         {"type":"tool_result","tool_use_id":"b","content":"mark4"}]}]})"},
    {"AnthropicResultInTheNextAnswer", "anthropic",
     R"({"messages":[{"role":"assistant","content":[
         {"type":"server_tool_use","id":"a","name":"code_execution","input":{"n":"mark1"}},
         {"type":"tool_use","id":"b","name":"g","input":{"n":"mark2"}}]},
         {"role":"user","content":[
         {"type":"tool_result","tool_use_id":"b","content":"mark3"}]},
         {"role":"assistant","content":[
         {"type":"code_execution_tool_result","tool_use_id":"a","content":{"stdout":"mark4"}},
         {"type":"text","text":"mark5"}]}]})"},
    {"GeminiCallBetweenCodeAndItsResult", "gemini",
     R"({"contents":[{"role":"model","parts":[
         {"executableCode":{"language":"PYTHON","code":"mark1"}},
         {"functionCall":{"id":"b","name":"g","args":{"n":"mark2"}}},
         {"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"mark3"}}]},
         {"role":"user","parts":[
         {"functionResponse":{"id":"b","name":"g","response":{"output":"mark4"}}}]}]})"},
    {"BedrockCallBetweenACallAndItsResult", "bedrock_converse",
     R"({"messages":[{"role":"assistant","content":[
         {"toolUse":{"toolUseId":"a","name":"f","input":{"n":"mark1"},"type":"server_tool_use"}},
         {"toolUse":{"toolUseId":"b","name":"g","input":{"n":"mark2"}}},
         {"toolResult":{"toolUseId":"a","content":[{"text":"mark3"}],"type":"f_result"}}]},
         {"role":"user","content":[
         {"toolResult":{"toolUseId":"b","content":[{"text":"mark4"}]}}]}]})"},
    {"BedrockBlocksBehindACallOfTheHost", "bedrock_converse",
     R"({"messages":[{"role":"assistant","content":[
         {"image":{"format":"png","source":{"bytes":"mark1"}}},
         {"toolUse":{"toolUseId":"a","name":"f","input":{"n":"mark2"}}},
         {"image":{"format":"png","source":{"bytes":"mark3"}}},
         {"reasoningContent":{"reasoningText":{"text":"mark4","signature":"s"}}},
         {"text":"mark5"},
         {"toolUse":{"toolUseId":"b","name":"f","input":{"n":"mark6"}}}]},
         {"role":"user","content":[
         {"toolResult":{"toolUseId":"a","content":[{"text":"mark7"}]}},
         {"toolResult":{"toolUseId":"b","content":[{"text":"mark8"}]}}]}]})"},
    {"BedrockCitationsWithoutWordsBeforeACall", "bedrock_converse",
     R"({"messages":[{"role":"assistant","content":[
         {"citationsContent":{"content":[],"citations":[{"title":"mark1"}]}},
         {"toolUse":{"toolUseId":"a","name":"f","input":{"n":"mark2"}}},
         {"image":{"format":"png","source":{"bytes":"mark3"}}}]},
         {"role":"user","content":[
         {"toolResult":{"toolUseId":"a","content":[{"text":"mark4"}]}}]}]})"},
    {"AnthropicBlocksBehindAnEmptyText", "anthropic",
     R"({"messages":[{"role":"assistant","content":[
         {"type":"text","text":""},
         {"type":"fallback","to":"mark1"},
         {"type":"tool_use","id":"a","name":"f","input":{"n":"mark2"}},
         {"type":"thinking","thinking":"mark3","signature":"s"}]},
         {"role":"user","content":[
         {"type":"tool_result","tool_use_id":"a","content":"mark4"}]}]})"},
};

class OrderOfHistory : public testing::TestWithParam<OrderRow> {};

}  // namespace

TEST_P(OrderOfHistory, StaysAsItCame) {
  const auto& [name, format, data] = GetParam();
  message::Messages messages = messages_from(format, data);
  EXPECT_EQ(marks_of(sent_back(format, messages)), marks_of(data));
  make_ready(messages);
  EXPECT_EQ(marks_of(sent_back(format, messages)), marks_of(data)) << message::to_json(messages);
  EXPECT_EQ(message::OrderedAnswers(messages).unfit(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Rows, OrderOfHistory, testing::ValuesIn(ordered_histories),
                         [](const testing::TestParamInfo<OrderRow>& row) {
                           return row.param.name;
                         });

namespace {

// Random items of the Responses API; each holds its mark once, and each call gets its output.
class RandomItems {
 public:
  explicit RandomItems(unsigned seed) : random_(seed) {}

  std::string make() {
    const int items = number(1, 14);
    for (int i = 0; i < items; ++i) add_item(number(0, 6));
    while (!open_.empty()) add_output();
    return items_ + "]";
  }

 private:
  int number(int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random_);
  }
  std::string mark() { return "mark" + std::to_string(++marks_); }
  void add(const std::string& item) { items_ += (items_.size() > 1 ? "," : "") + item; }

  void add_item(int kind) {
    const std::string id = std::to_string(marks_);
    if (kind == 0) add(R"({"type":"message","role":"assistant","content":")" + mark() + "\"}");
    if (kind == 1) {
      add(R"({"type":"reasoning","id":"rs_)" + id + R"(","summary":[],"encrypted_content":"gAAAA)" +
          mark() + "\"}");
    }
    if (kind == 2) add(R"({"type":"compaction","encrypted_content":")" + mark() + "\"}");
    if (kind == 3) {
      add(R"({"type":"mcp_call","id":"mcp_)" + id +
          R"(","name":"f","server_label":"s","arguments":"{}","output":")" + mark() + "\"}");
    }
    if (kind == 4 || kind == 5) {
      open_.push_back("call" + id);
      add(R"({"type":"function_call","name":"f","call_id":"call)" + id +
          R"(","arguments":"{\"n\":\")" + mark() + R"(\"}"})");
    }
    if (kind == 6 && !open_.empty()) add_output();
    // The user speaks when no call waits.
    if (kind == 6 && open_.empty()) {
      add(R"({"type":"message","role":"user","content":")" + mark() + "\"}");
    }
  }

  void add_output() {
    const auto at = open_.begin() + number(0, static_cast<int>(open_.size()) - 1);
    add(R"({"type":"function_call_output","call_id":")" + *at + R"(","output":")" + mark() + "\"}");
    open_.erase(at);
  }

  std::mt19937 random_;
  std::string items_ = "[";
  std::vector<std::string> open_;
  int marks_ = 0;
};

}  // namespace

TEST(OrderOfResponsesHistory, StaysForRandomItems) {
  for (unsigned seed = 0; seed < 1000; ++seed) {
    const std::string data = RandomItems(seed).make();
    message::Messages messages = messages_from("openai_conversation", data);
    ASSERT_EQ(marks_of(sent_back("openai_conversation", messages)), marks_of(data))
        << seed << "\n"
        << data << "\n"
        << message::to_json(messages);
    make_ready(messages);
    ASSERT_EQ(marks_of(sent_back("openai_conversation", messages)), marks_of(data))
        << seed << "\n"
        << data << "\n"
        << message::to_json(messages);
    ASSERT_EQ(message::OrderedAnswers(messages).unfit(), 0U) << seed << "\n" << data;
  }
}

namespace {

// How an API names the blocks of its turns; MARK is replaced by a mark and ID by the call's.
struct TurnWire {
  std::string format;
  std::string turns;
  std::string blocks;
  std::string assistant;
  std::vector<std::string> kinds;  // of blocks by themselves
  std::string host_call, host_result, server_call, server_result;
  bool has_open_calls = true;  // of the provider's, several at a time
};

void PrintTo(const TurnWire& wire, std::ostream* out) {
  *out << wire.format;
}

const TurnWire turn_wires[] = {
    {"anthropic",
     "messages",
     "content",
     "assistant",
     {R"({"type":"text","text":"MARK"})",
      R"({"type":"thinking","thinking":"MARK","signature":"s"})",
      R"({"type":"fallback","to":"MARK"})"},
     R"({"type":"tool_use","id":"ID","name":"f","input":{"n":"MARK"}})",
     R"({"type":"tool_result","tool_use_id":"ID","content":"MARK"})",
     R"({"type":"mcp_tool_use","id":"ID","name":"f","server_name":"s","input":{"n":"MARK"}})",
     R"({"type":"mcp_tool_result","tool_use_id":"ID","content":[{"type":"text","text":"MARK"}]})"},
    {"gemini",
     "contents",
     "parts",
     "model",
     {R"({"text":"MARK"})", R"({"text":"MARK","thought":true,"thoughtSignature":"c2ln"})",
      R"({"inlineData":{"mimeType":"image/png","data":"MARK"}})"},
     R"({"functionCall":{"id":"ID","name":"f","args":{"n":"MARK"}}})",
     R"({"functionResponse":{"id":"ID","name":"f","response":{"output":"MARK"}}})",
     R"({"executableCode":{"language":"PYTHON","code":"MARK"}})",
     R"({"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"MARK"}})",
     false},
    {"bedrock_converse",
     "messages",
     "content",
     "assistant",
     {R"({"text":"MARK"})",
      R"({"reasoningContent":{"reasoningText":{"text":"MARK","signature":"s"}}})",
      R"({"image":{"format":"png","source":{"bytes":"MARK"}}})",
      R"({"citationsContent":{"content":[{"text":"MARK"}],"citations":[{"title":"t"}]}})"},
     R"({"toolUse":{"toolUseId":"ID","name":"f","input":{"n":"MARK"}}})",
     R"({"toolResult":{"toolUseId":"ID","content":[{"text":"MARK"}]}})",
     R"({"toolUse":{"toolUseId":"ID","name":"f","input":{"n":"MARK"},"type":"server_tool_use"}})",
     R"({"toolResult":{"toolUseId":"ID","content":[{"text":"MARK"}],"type":"f_result"}})"},
};

// Random turns; the results of the host's calls follow theirs, in their order.
class RandomTurns {
 public:
  RandomTurns(const TurnWire& wire, unsigned seed) : wire_(wire), random_(seed) {}

  std::string make() {
    const int rounds = number(1, 3);
    for (int round = 0; round < rounds; ++round) {
      const bool is_last = round + 1 == rounds;
      while (!late_calls_.empty() && (is_last || number(0, 2) > 0)) add_server_result(late_calls_);
      const int blocks = number(1, 8);
      for (int i = 0; i < blocks; ++i) add_block();
      const bool waits = wire_.has_open_calls && !is_last && number(0, 2) == 0;
      if (waits) {
        late_calls_.insert(late_calls_.end(), server_calls_.begin(), server_calls_.end());
        server_calls_.clear();
      }
      while (!server_calls_.empty()) add_server_result(server_calls_);
      if (!late_calls_.empty()) add_host_call();
      end_turn(wire_.assistant);
      for (const std::string& id : host_calls_) add(wire_.host_result, id);
      const bool is_host_call = host_calls_.empty() || (late_calls_.empty() && number(0, 1) == 0);
      if (is_host_call) add(wire_.kinds.front(), {});
      host_calls_.clear();
      end_turn("user");
    }
    return "{\"" + wire_.turns + "\":[" + turns_ + "]}";
  }

 private:
  int number(int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random_);
  }
  static void replace(std::string& text, std::string_view name, const std::string& value) {
    const auto at = text.find(name);
    if (at != std::string::npos) text.replace(at, name.size(), value);
  }
  void add(std::string block, const std::string& id) {
    replace(block, "\"ID\"", "\"" + id + "\"");
    replace(block, "MARK", "mark" + std::to_string(++marks_));
    blocks_ += (blocks_.empty() ? "" : ",") + block;
  }
  std::string new_id() { return "call" + std::to_string(marks_); }

  void add_block() {
    const int kinds = static_cast<int>(wire_.kinds.size());
    const int kind = number(0, kinds + 3);
    if (kind < kinds) return add(wire_.kinds[static_cast<std::size_t>(kind)], {});
    if (kind <= kinds + 1) return add_host_call();
    const bool may_call = wire_.has_open_calls || server_calls_.empty();
    if (kind == kinds + 2 && may_call) {
      server_calls_.push_back(new_id());
      return add(wire_.server_call, server_calls_.back());
    }
    if (!server_calls_.empty()) add_server_result(server_calls_);
  }

  void add_host_call() {
    host_calls_.push_back(new_id());
    add(wire_.host_call, host_calls_.back());
  }

  void add_server_result(std::vector<std::string>& calls) {
    const auto at = calls.begin() + number(0, static_cast<int>(calls.size()) - 1);
    add(wire_.server_result, *at);
    calls.erase(at);
  }

  void end_turn(const std::string& role) {
    turns_ += turns_.empty() ? "" : ",";
    turns_ += R"({"role":")" + role + R"(",")" + wire_.blocks + "\":[" + blocks_ + "]}";
    blocks_.clear();
  }

  const TurnWire& wire_;
  std::mt19937 random_;
  std::string turns_;
  std::string blocks_;
  std::vector<std::string> host_calls_;
  std::vector<std::string> server_calls_;
  std::vector<std::string> late_calls_;  // whose results come first in a later turn
  int marks_ = 0;
};

class OrderOfTurns : public testing::TestWithParam<TurnWire> {};

}  // namespace

TEST_P(OrderOfTurns, StaysForRandomBlocks) {
  const std::string& format = GetParam().format;
  for (unsigned seed = 0; seed < 600; ++seed) {
    const std::string data = RandomTurns(GetParam(), seed).make();
    message::Messages messages = messages_from(format, data);
    ASSERT_EQ(marks_of(sent_back(format, messages)), marks_of(data)) << seed << "\n"
                                                                     << data << "\n"
                                                                     << message::to_json(messages);
    make_ready(messages);
    ASSERT_EQ(marks_of(sent_back(format, messages)), marks_of(data)) << seed << "\n"
                                                                     << data << "\n"
                                                                     << message::to_json(messages);
    ASSERT_EQ(message::OrderedAnswers(messages).unfit(), 0U) << seed << "\n" << data;
  }
}

INSTANTIATE_TEST_SUITE_P(Wires, OrderOfTurns, testing::ValuesIn(turn_wires),
                         [](const testing::TestParamInfo<TurnWire>& row) {
                           return row.param.format;
                         });

// What came apart and is one text there counts as joined.
TEST(JoinedAnswers, AreCounted) {
  const auto messages = message::parse_messages(
      R"([{"id":"1","role":"reasoning","content":"One."},{"id":"2","role":"reasoning",)"
      R"("content":"Two."},{"id":"3","role":"assistant","content":"A","toolCalls":[{"id":"c",)"
      R"("type":"function","function":{"name":"f","arguments":"{}"}}]}])");
  ASSERT_TRUE(messages.ok());
  message::JsonBuilder ollama(json::Surrogates::replace);
  EXPECT_EQ(format::write_joined_ollama(ollama, messages.value()), 1U) << ollama.take();
  message::JsonBuilder cohere(json::Surrogates::replace);
  EXPECT_EQ(format::write_joined_cohere(cohere, messages.value()), 1U);
  EXPECT_NE(cohere.take().find(R"("tool_plan":"One.Two.")"), std::string::npos);
}
