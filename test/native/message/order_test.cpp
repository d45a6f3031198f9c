// The order of an answer's parts: from events through messages into each provider's request.

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "format/format.hpp"
#include "message/fold.hpp"
#include "message/history.hpp"
#include "message/ordered_answers.hpp"

using namespace millrace;
using message::Message;
using message::Messages;
using message::PartKind;

namespace {

// How an API names the parts that a test gives it.
struct Wire {
  std::string format;
  std::string provider;
  std::string item_kind;
  std::string item;  // JSON text; MARK is replaced
  std::string signature;
  // State of a call that the provider ran and of its result; "" where both are one item.
  std::string server_call = {};
  std::string server_result = {};
};

const Wire wires[] = {
    {"anthropic", "anthropic", "content_block", R"({"type":"fallback","to":"MARK"})", "signed",
     R"({"type":"mcp_tool_use","server_name":"s"})", R"({"type":"mcp_tool_result"})"},
    {"gemini", "google", "part", R"({"inlineData":{"mimeType":"image/png","data":"MARK"}})",
     R"({\"google\":{\"thought_signature\":\"s\"}})", R"({"language":"PYTHON","code":"MARK"})",
     R"({"outcome":"OUTCOME_OK","output":"MARK"})"},
    {"bedrock_converse", "bedrock", "content_block", R"({"image":{"format":"MARK"}})",
     R"({\"bedrock\":{\"signature\":\"s\"}})", R"({"type":"server_tool_use"})",
     R"({"type":"server_tool_result"})"},
    {"openai_conversation", "openai_responses", "compaction",
     R"({"type":"compaction","encrypted_content":"MARK"})", "gAAAAsigned"},
};

std::string replaced(std::string text, const std::string& mark) {
  const std::size_t at = text.find("MARK");
  return at == std::string::npos ? text : text.replace(at, 4, mark);
}

std::string mark_of(int number) {
  return "part" + std::to_string(1000 + number) + ".";
}

// A random answer as events; each part holds its mark once, in order.
class RandomAnswer {
 public:
  RandomAnswer(const Wire& wire, unsigned seed) : wire_(wire), random_(seed) {}

  std::string make() {
    const int parts = number(1, 12);
    for (int part = 0; part < parts; ++part) {
      const int kind = number(0, wire_.server_call.empty() ? 3 : 5);
      if (kind == 0) add_text();
      if (kind == 1) add_reasoning();
      if (kind == 2) add_item();
      if (kind == 3) add_call();
      if (kind == 4) add_server_call();
      if (kind == 5) add_server_result();
    }
    while (!server_calls_.empty()) add_server_result();
    for (const std::string& call : calls_) {
      add(R"({"type":"TOOL_CALL_RESULT","messageId":"result )" + call + R"(","toolCallId":")" +
          call + R"(","content":"done"})");
    }
    return events_ + "]";
  }
  [[nodiscard]] int marks() const { return marks_; }

 private:
  int number(int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random_);
  }
  void add(const std::string& event) { events_ += (events_.size() > 1 ? "," : "") + event; }
  std::string mark() { return mark_of(marks_++); }

  // The latest message, or a new one.
  std::string message() {
    if (message_.empty() || number(0, 2) == 0) message_ = "m" + std::to_string(++messages_);
    return message_;
  }
  void add_text() {
    add(R"({"type":"TEXT_MESSAGE_CHUNK","messageId":")" + message() + R"(","delta":")" + mark() +
        "\"}");
  }
  void add_reasoning() {
    const bool is_openai = wire_.format == "openai_conversation";
    const std::string id = (is_openai ? "rs_" : "r") + std::to_string(++messages_);
    add(R"({"type":"REASONING_MESSAGE_CHUNK","messageId":")" + id + R"(","delta":")" + mark() +
        "\"}");
    add(R"({"type":"REASONING_ENCRYPTED_VALUE","subtype":"message","entityId":")" + id +
        R"(","encryptedValue":")" + wire_.signature + "\"}");
  }
  // Of the message, of one that never begins, of one that begins later, or of the latest one.
  void add_item() {
    const int whose = number(message_.empty() ? 1 : 0, message_.empty() ? 2 : 3);
    std::string entity;
    if (whose == 0) entity = message_;
    if (whose == 1) entity = "item" + std::to_string(marks_);
    if (whose == 2) entity = "m" + std::to_string(messages_ + 1);
    add_state(entity, wire_.item_kind, replaced(wire_.item, mark()));
  }
  void add_state(const std::string& entity, const std::string& kind, const std::string& state) {
    add(R"({"type":"CUSTOM","name":"millrace.provider_state","value":{"entityId":")" + entity +
        R"(","provider":")" + wire_.provider + R"(","kind":")" + kind + R"(","state":)" + state +
        "}}");
  }
  // The mark is in the state, where the wire has one there, and else in the arguments or the text.
  void add_server_call() {
    const std::string id = "server" + std::to_string(marks_);
    const std::string state = replaced(wire_.server_call, mark());
    const std::string arguments =
        state == wire_.server_call ? R"({\"a\":\")" + mark_of(marks_ - 1) + R"(\"})" : "{}";
    add(R"({"type":"TOOL_CALL_CHUNK","toolCallId":")" + id + R"(","toolCallName":"f",)" +
        R"("parentMessageId":")" + message() + R"(","delta":")" + arguments + "\"}");
    add_state(id, "server_tool", state);
    server_calls_.push_back(id);
  }
  void add_server_result() {
    if (server_calls_.empty()) return;
    const auto call = server_calls_.begin() + number(0, static_cast<int>(server_calls_.size()) - 1);
    const std::string state = replaced(wire_.server_result, mark());
    const std::string text = state == wire_.server_result ? mark_of(marks_ - 1) : "done";
    add_state(*call, "server_tool_result", state);
    add(R"({"type":"TOOL_CALL_RESULT","messageId":"result )" + *call + R"(","toolCallId":")" +
        *call + R"(","content":")" + text + "\"}");
    server_calls_.erase(call);
  }
  void add_call() {
    const std::string id = "call" + std::to_string(marks_);
    add(R"({"type":"TOOL_CALL_CHUNK","toolCallId":")" + id + R"(","toolCallName":"f",)" +
        R"("parentMessageId":")" + message() + R"(","delta":"{\"a\":\")" + mark() + R"(\"}"})");
    calls_.push_back(id);
  }

  const Wire& wire_;
  std::mt19937 random_;
  std::string events_ = "[";
  std::string message_;
  std::vector<std::string> calls_;
  std::vector<std::string> server_calls_;  // without their results
  int messages_ = 0;
  int marks_ = 0;
};

Messages folded(const std::string& events) {
  CountingIds ids("id-");
  message::Folder folder(ids);
  EXPECT_TRUE(folder.feed(events).ok()) << events;
  return folder.messages();
}

std::string written(const Messages& messages, const std::string& format) {
  auto text = format::to_api(*format::find_format(format), message::to_json(messages));
  return text ? text.value() : text.error().message;
}

// The marks as they stand in a text.
std::vector<int> marks_in(const std::string& text) {
  std::vector<int> marks;
  for (std::size_t at = text.find("part1"); at != std::string::npos;
       at = text.find("part1", at + 1)) {
    marks.push_back(std::stoi(text.substr(at + 5, 3)));
  }
  return marks;
}

std::vector<int> counted(int marks) {
  std::vector<int> all(static_cast<std::size_t>(marks));
  for (int i = 0; i < marks; ++i) all[static_cast<std::size_t>(i)] = i;
  return all;
}

class OrderOf : public testing::TestWithParam<Wire> {};

}  // namespace

TEST_P(OrderOf, RandomPartsGoOutAsTheyCame) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    RandomAnswer answer(GetParam(), seed);
    const std::string events = answer.make();
    const Messages messages = folded(events);
    const std::string request = written(messages, GetParam().format);
    ASSERT_EQ(marks_in(request), counted(answer.marks())) << seed << "\n"
                                                          << events << "\n"
                                                          << message::to_json(messages) << "\n"
                                                          << request;
    EXPECT_EQ(message::OrderedAnswers(messages).unfit(), 0U) << seed;
    Messages repaired = messages;
    CountingIds ids("repaired-");
    EXPECT_TRUE(message::repair_history(repaired, ids, {message::Unmatched::dropped, true}).empty())
        << seed << "\n"
        << message::to_json(messages);
  }
}

INSTANTIATE_TEST_SUITE_P(Wires, OrderOf, testing::ValuesIn(wires),
                         [](const testing::TestParamInfo<Wire>& row) { return row.param.format; });

namespace {

// A text in two pieces with a block between them, reasoning between two calls.
const std::string answer_events =
    R"([{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"part1000."},)"
    R"({"type":"CUSTOM","name":"millrace.provider_state","value":{"entityId":"m",)"
    R"("provider":"anthropic","kind":"compaction","state":{"type":"compaction",)"
    R"("content":"part1001."}}},)"
    R"({"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"part1002."},)"
    R"({"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"f","parentMessageId":"m",)"
    R"("delta":"{\"a\":\"part1003.\"}"},)"
    R"({"type":"REASONING_MESSAGE_CHUNK","messageId":"r","delta":"part1004."},)"
    R"({"type":"REASONING_ENCRYPTED_VALUE","subtype":"message","entityId":"r",)"
    R"("encryptedValue":"signed"},)"
    R"({"type":"TOOL_CALL_CHUNK","toolCallId":"d","toolCallName":"f","parentMessageId":"m",)"
    R"("delta":"{\"a\":\"part1005.\"}"}])";

struct Edit {
  const char* what;
  std::function<void(Messages&)> make;
  bool fits;
};

Message& message_of(Messages& messages, message::Role role) {
  for (Message& message : messages) {
    if (message.role == role) return message;
  }
  return messages.front();
}

const Edit edits[] = {
    {"nothing", [](Messages&) {}, true},
    {"a question before it",
     [](Messages& m) {
       Message question;
       question.content = message::Content::of_text("?");
       m.insert(m.begin(), question);
     },
     true},
    {"results",
     [](Messages& m) {
       for (const char* id : {"c", "d"}) {
         Message& result = m.emplace_back();
         result.role = message::Role::tool;
         result.tool_call_id = id;
         result.content = message::Content::of_text("done");
       }
     },
     true},
    {"the state of the provider taken out",
     [](Messages& m) { message_of(m, message::Role::assistant).metadata.provider_state.clear(); },
     true},
    {"another text",
     [](Messages& m) { message_of(m, message::Role::assistant).content.text = "Part1000."; },
     false},
    {"a text of the same size",
     [](Messages& m) { message_of(m, message::Role::assistant).content.text[0] = 'P'; }, false},
    {"more text", [](Messages& m) { message_of(m, message::Role::assistant).content.text += "!"; },
     false},
    {"a call taken out",
     [](Messages& m) { message_of(m, message::Role::assistant).tool_calls.pop_back(); }, false},
    {"a call more",
     [](Messages& m) {
       message_of(m, message::Role::assistant).tool_calls.emplace_back().id = "e";
     },
     false},
    {"other arguments",
     [](Messages& m) { message_of(m, message::Role::assistant).tool_calls[0].arguments = "{}"; },
     false},
    {"reasoning taken out",
     [](Messages& m) {
       std::erase_if(m, [](const Message& one) { return one.role == message::Role::reasoning; });
     },
     false},
    {"other reasoning",
     [](Messages& m) { message_of(m, message::Role::reasoning).content.text = "Redacted."; },
     false},
    {"an item more",
     [](Messages& m) {
       message_of(m, message::Role::assistant)
           .metadata.add("anthropic", "compaction", R"({"type":"compaction"})");
     },
     false},
    {"a question between its parts",
     [](Messages& m) {
       Message question;
       question.content = message::Content::of_text("?");
       m.insert(m.begin() + 1, question);
     },
     false},
};

}  // namespace

TEST(Order, HoldsAsLongAsTheMessagesAreWhatTheyWere) {
  for (const Edit& edit : edits) {
    Messages messages = folded(answer_events);
    ASSERT_EQ(messages.size(), 2U);
    edit.make(messages);
    const message::OrderedAnswers answers(messages);
    EXPECT_EQ(answers.unfit(), edit.fits ? 0U : 1U) << edit.what;
    const std::vector<int> marks = marks_in(written(messages, "anthropic"));
    EXPECT_EQ(std::is_sorted(marks.begin(), marks.end()), edit.fits) << edit.what;
  }
}

TEST(Order, IsNotRecordedWhereTheMessagesShowIt) {
  const Messages messages = folded(
      R"([{"type":"REASONING_MESSAGE_CHUNK","messageId":"r","delta":"a"},)"
      R"({"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"b"},)"
      R"({"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"f","parentMessageId":"m"},)"
      R"({"type":"TOOL_CALL_CHUNK","toolCallId":"d","toolCallName":"f","parentMessageId":"m"},)"
      R"({"type":"TOOL_CALL_RESULT","messageId":"t","toolCallId":"d","content":"1"}])");
  for (const Message& message : messages) EXPECT_TRUE(message.metadata.order->empty());
  EXPECT_FALSE(message::OrderedAnswers(messages).covers(0));
}

// The result of a call stands behind its message, where a later call of the answer is another's.
TEST(Order, IsRecordedWhereACallOfAnotherMessageFollowsAnOpenOne) {
  Messages messages = folded(
      R"([{"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"f","parentMessageId":"m"},)"
      R"({"type":"TOOL_CALL_CHUNK","toolCallId":"d","toolCallName":"f","parentMessageId":"n"},)"
      R"({"type":"TOOL_CALL_RESULT","messageId":"t","toolCallId":"d","content":"1"}])");
  EXPECT_TRUE(message::OrderedAnswers(messages).covers(0));
  Message& result = messages.emplace_back();
  result.id = "r";
  result.role = message::Role::tool;
  result.tool_call_id = "c";
  CountingIds ids("id-");
  Messages flat = messages;
  EXPECT_TRUE(message::repair_history(messages, ids, {message::Unmatched::dropped, true}).empty());
  EXPECT_EQ(messages.back().id, "r");
  // A format that writes message by message has it behind its call.
  EXPECT_EQ(message::repair_history(flat, ids).size(), 1U);
  EXPECT_EQ(flat[1].id, "r");
}

TEST(Order, OfEachStepIsItsOwn) {
  const std::string step =
      R"({"type":"STEP_STARTED","stepName":"s"},)"
      R"({"type":"TEXT_MESSAGE_CHUNK","messageId":"mN","delta":"a"},)"
      R"({"type":"CUSTOM","name":"millrace.provider_state","value":{"entityId":"mN",)"
      R"("provider":"google","kind":"part","state":{"x":1}}},)"
      R"({"type":"TEXT_MESSAGE_CHUNK","messageId":"mN","delta":"b"})";
  std::string events = "[";
  for (const char* name : {"m1", "m2"}) {
    std::string one = step;
    for (std::size_t at = one.find("mN"); at != std::string::npos; at = one.find("mN")) {
      one.replace(at, 2, name);
    }
    events += (events.size() > 1 ? "," : "") + one;
  }
  const Messages messages = folded(events + "]");
  ASSERT_EQ(messages.size(), 2U);
  const message::OrderedAnswers answers(messages);
  EXPECT_EQ(answers.unfit(), 0U);
  for (std::size_t at = 0; at < 2; ++at) {
    const auto parts = answers.at(at);
    ASSERT_EQ(parts.size(), 3U) << at;
    EXPECT_EQ(parts[1].kind, PartKind::item);
    EXPECT_EQ(parts[2].text, "b");
  }
}

TEST(Order, OfALongAnswerIsWhole) {
  std::string events = "[";
  for (int i = 0; i < 5000; ++i) {
    events += R"({"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"a"},)"
              R"({"type":"CUSTOM","name":"millrace.provider_state","value":{"entityId":"m",)"
              R"("provider":"google","kind":"part","state":{"x":1}}},)";
  }
  events.back() = ']';
  const Messages messages = folded(events);
  const message::OrderedAnswers answers(messages);
  EXPECT_EQ(answers.unfit(), 0U);
  EXPECT_EQ(answers.at(0).size(), 10000U);
}

// The hash is computed by pages, too.
TEST(Order, HashesTheTextAndTheSize) {
  EXPECT_EQ(message::PartHash("").text(), message::PartHash().text());
  message::PartHash pieces;
  const std::string text(100, 'x');
  for (const char letter : text) pieces.add(std::string_view(&letter, 1));
  EXPECT_EQ(pieces.text(), message::PartHash(text).text());
  EXPECT_EQ(pieces.size(), 100U);
  EXPECT_NE(message::PartHash(text).text(), message::PartHash(text + "x").text());
  EXPECT_NE(message::PartHash("yes").text(), message::PartHash("no!").text());
  std::string edited = text;
  edited.back() = 'y';
  EXPECT_NE(message::PartHash(edited).text(), message::PartHash(text).text());
  EXPECT_FALSE(message::PartHash::fits(edited, message::PartHash(text).text()));
}

// Blocks of bytes are taken at once, wherever the pieces end.
TEST(Order, HashesAlikeAtEverySplit) {
  std::string text;
  for (int letter = 0; letter < 60; ++letter) text.push_back(static_cast<char>(200 + letter * 7));
  const std::string whole = message::PartHash(text).text();
  for (std::size_t first = 0; first <= text.size(); ++first) {
    for (std::size_t second = first; second <= text.size(); ++second) {
      message::PartHash pieces(std::string_view(text).substr(0, first));
      pieces.add(std::string_view(text).substr(first, second - first));
      pieces.add(std::string_view(text).substr(second));
      ASSERT_EQ(pieces.text(), whole) << first << ' ' << second;
    }
  }
}

// FNV-1a of 64 or 100 times "x" and of the size 100, as stored records have them.
TEST(Order, TakesHashesOfEarlierRecords) {
  const std::string text(100, 'x');
  EXPECT_TRUE(message::PartHash::fits(text, "0b18a4c1"));
  EXPECT_FALSE(message::PartHash::fits(text + "x", "0b18a4c1"));
  EXPECT_TRUE(message::PartHash::fits(text, "fa8663b1"));
  EXPECT_FALSE(message::PartHash::fits(text + "x", "fa8663b1"));
}

// Whatever stands there, a record is read or left out.
TEST(Order, TakesAnyRecord) {
  const char* records[] = {"1",
                           "null",
                           "[]",
                           "{}",
                           R"([1])",
                           R"([{"type":"text"}])",
                           R"([{"type":"item","id":"m","kind":"x","at":-1}])",
                           R"([{"type":"item","id":"m","kind":"x","at":99999999999}])",
                           R"([{"type":"text","id":"m","size":-5,"hash":""}])",
                           R"([{"type":"text","id":"m","size":1e300,"hash":""}])",
                           R"([{"type":"result","id":"c"},{"type":"result","id":"c"}])",
                           R"([{"type":"thing","id":"m"}])"};
  for (const char* record : records) {
    Messages messages = folded(answer_events);
    messages[0].metadata.order.edit() = record;
    const message::OrderedAnswers answers(messages);
    EXPECT_EQ(answers.unfit(), 1U) << record;
    EXPECT_FALSE(answers.covers(0)) << record;
  }
}

// A result of a tool that the provider ran is of the turn that called it, whatever came between.
TEST(Order, PutsAResultOfTheProviderBeforeTheNextQuestion) {
  Messages messages = folded(
      R"([{"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"f","parentMessageId":"m",)"
      R"("delta":"{\"a\":\"part1000.\"}"},)"
      R"({"type":"CUSTOM","name":"millrace.provider_state","value":{"entityId":"c",)"
      R"("provider":"anthropic","kind":"server_tool","state":{"type":"mcp_tool_use"}}},)"
      R"({"type":"CUSTOM","name":"millrace.provider_state","value":{"entityId":"c",)"
      R"("provider":"anthropic","kind":"server_tool_result","state":{"type":"mcp_tool_result"}}},)"
      R"({"type":"TOOL_CALL_RESULT","messageId":"t","toolCallId":"c","content":"part1001."}])");
  Message question;
  question.content = message::Content::of_text("part1002.");
  messages.insert(messages.end() - 1, question);
  const std::string request = written(messages, "anthropic");
  EXPECT_EQ(marks_in(request), counted(3)) << request;
}
