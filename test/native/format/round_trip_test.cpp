// Random conversations go to every API and come back: what the API can carry is there again.
//
// What a format carries is said by `Carries`; both sides are reduced to `Facts` by it and compared.
// A second trip must change nothing at all.

#include <gtest/gtest.h>

#include <map>

#include "format/format.hpp"
#include "format/support.hpp"
#include "message/parts.hpp"
#include "support/random_history.hpp"

using namespace millrace;
using message::Message;
using message::Messages;
using message::Role;

namespace {

struct Carries {
  std::string format;
  bool errors = false;           // that a tool failed
  bool developer = false;        // a role of its own
  bool blank_text = true;        // text of white space alone
  bool broken_arguments = true;  // as they are; else compact JSON, and "" is {}
  bool foreign_reasoning = false;
  bool addresses = true;  // media by address
  bool order = true;      // of texts and media among each other
};

const Carries all[] = {
    {.format = "openai", .developer = true},
    {.format = "openai_conversation", .developer = true},
    {.format = "langgraph", .errors = true, .broken_arguments = false},
    {.format = "anthropic",
     .errors = true,
     .blank_text = false,
     .broken_arguments = false,
     .foreign_reasoning = true},
    {.format = "gemini", .errors = true, .blank_text = false, .broken_arguments = false},
    {.format = "bedrock_converse",
     .errors = true,
     .blank_text = false,
     .broken_arguments = false,
     .addresses = false},
    {.format = "cohere"},
    {.format = "ollama", .broken_arguments = false, .addresses = false, .order = false},
};

// What a conversation says, without how it is cut into messages.
struct Facts {
  std::vector<std::string> prompts;  // "system: text"
  std::vector<std::string> speech;   // "user: text and media", neighbours of one side joined
  std::vector<std::string> calls;    // "id name arguments"
  std::map<std::string, std::string> results;  // by call id: "text" or "failed: text"
  std::vector<std::string> reasoning_parts;

  bool operator==(const Facts&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Facts& facts) {
  for (const auto& line : facts.prompts) out << "\n  prompt " << line;
  for (const auto& line : facts.speech) out << "\n  " << line;
  for (const auto& line : facts.calls) out << "\n  call " << line;
  for (const auto& [id, line] : facts.results) out << "\n  result " << id << " " << line;
  for (const auto& line : facts.reasoning_parts) out << "\n  thought " << line;
  return out;
}

std::string arguments(const std::string& text, const Carries& carries) {
  if (carries.broken_arguments) return text;
  json::Document document;
  const auto value = document.parse(text);
  if (carries.format == "langgraph") {
    // Arguments that are a JSON string cannot be told from broken ones.
    if (value && value.value().is_string()) return std::string(value.value().string());
    return value ? value.value().to_json() : text;
  }
  if (text.empty()) return "{}";
  return value && value.value().is_object() ? value.value().to_json() : text;
}

bool is_blank(std::string_view text) {
  return json::trim(text).empty();
}

std::string media_of(const json::Value& part, const Carries& carries) {
  message::Media media;
  if (!message::read_media(media, part)) return {};
  if (media.source == message::Media::Source::url && !carries.addresses) return {};
  message::DataUrl data;
  std::string_view value = media.value;
  if (message::read_data_url(data, value)) value = data.data;
  return "<" + std::string(value) + ">";
}

std::string received(const Message& message, const Carries& carries) {
  if (message.content.kind == message::Content::Kind::text) {
    const std::string& text = message.content.text;
    return !carries.blank_text && is_blank(text) ? "" : text;
  }
  std::string all_parts;
  std::string media;
  const message::Parts parts(message.content);
  for (const json::Value part : parts.items()) {
    const std::string text(part["text"].string());
    (carries.order ? all_parts : media) += media_of(part, carries);
    if (carries.blank_text || !is_blank(text)) all_parts += text;
  }
  return all_parts + media;
}

void add_speech(Facts& facts, const std::string& side, const std::string& text) {
  if (text.empty()) return;
  if (!facts.speech.empty() && facts.speech.back().starts_with(side + ": ")) {
    facts.speech.back() += text;
  } else {
    facts.speech.push_back(side + ": " + text);
  }
}

Facts facts_of(const Messages& messages, const Carries& carries) {
  Facts facts;
  for (const Message& message : messages) {
    const std::string text = received(message, carries);
    switch (message.role) {
      case Role::system:
      case Role::developer: {
        const bool developer = carries.developer && message.role == Role::developer;
        if (carries.blank_text || !text.empty()) {
          facts.prompts.push_back((developer ? "developer: " : "system: ") + text);
        }
        break;
      }
      case Role::user: add_speech(facts, "user", text); break;
      case Role::assistant:
        add_speech(facts, "assistant", text);
        for (const auto& call : message.tool_calls) {
          facts.calls.push_back(call.id + " " + call.name + " " +
                                arguments(call.arguments, carries));
        }
        break;
      case Role::tool: {
        const std::string result = format::result_text(format::SentResult(message).message());
        const bool failed = carries.errors && message.error;
        facts.results[message.tool_call_id] = (failed ? "failed: " : "") + result;
        break;
      }
      case Role::reasoning:
        if (carries.foreign_reasoning && message.encrypted_value) {
          facts.reasoning_parts.push_back(message.content.text + " " + *message.encrypted_value);
        }
        break;
      case Role::activity: break;
    }
  }
  return facts;
}

Messages there_and_back(const format::Format& format, const Messages& messages,
                        const char* prefix) {
  const auto api = format::to_api(format, message::to_json(messages));
  EXPECT_TRUE(api.ok()) << api.error().message;
  CountingIds ids(prefix);
  const auto back = format::from_api(format, api.value(), ids);
  EXPECT_TRUE(back.ok()) << back.error().message << "\n" << api.value();
  auto parsed = message::parse_messages(back.value());
  EXPECT_TRUE(parsed.ok());
  return std::move(parsed).value();
}

class RoundTrip : public testing::TestWithParam<Carries> {};

}  // namespace

TEST_P(RoundTrip, LosesNothingThatTheApiCarries) {
  const Carries& carries = GetParam();
  const format::Format* format = format::find_format(carries.format);
  ASSERT_NE(format, nullptr);
  const unsigned seed = std::random_device{}();
  for (unsigned round = 0; round < 150; ++round) {
    test::RandomHistory random(seed + round);
    const Messages before = random.make();
    const Messages after = there_and_back(*format, before, "id-");
    ASSERT_EQ(facts_of(after, carries), facts_of(before, carries))
        << "seed " << seed + round << "\n"
        << message::to_json(before);
    const Messages again = there_and_back(*format, after, "id-");
    ASSERT_EQ(message::to_json(again), message::to_json(after)) << "seed " << seed + round;
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, RoundTrip, testing::ValuesIn(all),
                         [](const testing::TestParamInfo<Carries>& row) {
                           return row.param.format;
                         });

TEST(RoundTripOfLanggraph, KeepsIds) {
  const Messages before = test::RandomHistory(7).make();
  std::map<std::string, int> retained;
  for (const Message& m : there_and_back(*format::find_format("langgraph"), before, "id-")) {
    ++retained[m.id];
  }
  for (const Message& m : before) {
    if (m.role == Role::reasoning || m.role == Role::activity) continue;
    EXPECT_EQ(retained[m.id], 1) << m.id;
  }
}
