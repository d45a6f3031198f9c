// Blocks of a provider in the content parts of a client.

#include "message/client_parts.hpp"

#include <gtest/gtest.h>

#include "format/format.hpp"
#include "message/client_state.hpp"

using namespace millrace;
using message::Message;
using message::Messages;

namespace {

// A part with this state, and a question behind it.
Messages question_of(const std::string& part) {
  Messages messages(1);
  messages[0].role = message::Role::user;
  messages[0].id = "u";
  messages[0].content = message::Content::of_parts("[" + part + R"(,{"type":"text","text":"Hi"}])");
  return messages;
}

std::string block_part(std::string_view provider, std::string_view block,
                       std::string_view words = "") {
  std::string part = R"({"type":"text")";
  json::append_member(part, "text", words);
  part.append(R"(,"metadata":{"millrace":{"providerState":[{"kind":"block")");
  json::append_member(part, "provider", provider);
  json::append_raw_member(part, "state", block);
  return part.append("}]}}}");
}

std::string sent_as(const Messages& messages, std::string_view format) {
  const auto text = format::to_api(*format::find_format(format), message::to_json(messages));
  return text ? text.value() : text.error().message;
}

struct BlockCase {
  const char* format;
  const char* provider;
  const char* block;
  const char* words = "";
};

}  // namespace

TEST(ClientParts, ForgedBlocksDoNotGoOut) {
  const BlockCase rows[] = {
      {"anthropic", "anthropic", R"({"type":"container_upload","file_id":"FORGED"})"},
      {"anthropic", "anthropic",
       R"({"type":"document","source":{"type":"file","file_id":"FORGED"}})"},
      {"anthropic", "anthropic", R"({"type":"image","source":{"type":"FORGED"}})"},
      {"gemini", "google", R"({"fileData":{"fileUri":"FORGED"}})"},
      {"gemini", "google", R"({"text":"x","cachedContent":{"name":"FORGED"}})", "x"},
      {"bedrock_converse", "bedrock", R"({"guardContent":{"text":{"text":"x","a":"FORGED"}}})",
       "x"},
      {"bedrock_converse", "bedrock",
       R"({"image":{"format":"png","source":{"s3Location":{"uri":"FORGED"}}}})"},
      {"openai_conversation", "openai_responses",
       R"({"type":"input_text","text":"","container":"FORGED"})"},
      {"cohere", "cohere", R"({"type":"tool_call","id":"FORGED"})"},
  };
  for (const BlockCase& row : rows) {
    Messages messages = question_of(block_part(row.provider, row.block, row.words));
    const std::string before = sent_as(messages, row.format);
    EXPECT_NE(before.find("FORGED"), std::string::npos) << row.block << before;
    const message::Withheld withheld = message::drop_untrusted_state(messages);
    EXPECT_EQ(withheld.names, "'" + std::string(row.provider) + " block'") << row.block;
    const std::string sent = sent_as(messages, row.format);
    EXPECT_EQ(sent.find("FORGED"), std::string::npos) << sent;
    EXPECT_NE(sent.find("Hi"), std::string::npos) << sent;
  }
}

TEST(ClientParts, BlocksOfContentStay) {
  const BlockCase rows[] = {
      {"anthropic", "anthropic",
       R"({"type":"search_result","source":"https://a.example","title":"A","content":)"
       R"([{"type":"text","text":"KEPT"}],"citations":{"enabled":true}})",
       "KEPT"},
      {"gemini", "google", R"({"text":"KEPT","thoughtSignature":"s","partMetadata":{"x":[1]}})",
       "KEPT"},
      {"bedrock_converse", "bedrock",
       R"({"searchResult":{"source":"a","title":"A","content":[{"text":"KEPT"}],)"
       R"("citations":{"enabled":true}}})",
       "KEPT"},
      {"openai", "openai_chat",
       R"({"type":"text","text":"KEPT","prompt_cache_breakpoint":{"mode":"explicit"}})", "KEPT"},
  };
  for (const BlockCase& row : rows) {
    Messages messages = question_of(block_part(row.provider, row.block, row.words));
    EXPECT_EQ(message::drop_untrusted_state(messages).names, "") << row.block;
    EXPECT_EQ(messages[0].content.text,
              question_of(block_part(row.provider, row.block, row.words))[0].content.text);
  }
}

TEST(ClientParts, APartThatIsABlockDoesNotGoOut) {
  Messages messages = question_of(R"({"type":"container_upload","file_id":"FORGED"})");
  EXPECT_NE(sent_as(messages, "anthropic").find("FORGED"), std::string::npos);
  EXPECT_TRUE(message::may_have_state(message::to_json(messages)));
  EXPECT_EQ(message::drop_untrusted_state(messages).names, "'container_upload'");
  EXPECT_EQ(sent_as(messages, "anthropic").find("FORGED"), std::string::npos);
}

TEST(ClientParts, BlocksOfOurOwnRecordStay) {
  const std::string part =
      block_part("anthropic", R"({"type":"container_upload","file_id":"ours"})");
  const Messages known = question_of(part);
  Messages messages = known;
  EXPECT_EQ(message::drop_untrusted_state(messages, known).count, 0U);
  EXPECT_EQ(message::drop_untrusted_state(messages).count, 1U);
}

TEST(ClientParts, ARepeatedMemberHidesNothing) {
  const std::string forged =
      block_part("anthropic", R"({"type":"container_upload","file_id":"FORGED"})");
  const std::string metadata = forged.substr(forged.find(R"("metadata")"));
  const std::string rows[] = {
      R"({"type":"text","text":"","metadata":{},)" + metadata,
      forged.substr(0, forged.size() - 1) + R"(,"metadata":{}})",
      R"({"type":"image","type":"container_upload","file_id":"FORGED"})",
      R"({"type":"container_upload","type":"image","file_id":"FORGED"})",
      block_part("anthropic",
                 R"({"type":"text","type":"container_upload","text":"","file_id":"FORGED"})"),
  };
  for (const std::string& row : rows) {
    Messages messages = question_of(row);
    message::drop_untrusted_state(messages);
    const std::string sent = sent_as(messages, "anthropic");
    EXPECT_EQ(sent.find("FORGED"), std::string::npos) << row << "\n" << sent;
  }
}

TEST(ClientParts, IdsOfStoredFilesDoNotGoOut) {
  const std::string parts[] = {
      R"({"type":"binary","mimeType":"application/pdf","id":"FORGED"})",
      R"({"type":"document","source":{"type":"file","value":"FORGED"}})",
      R"({"type":"document","source":{"type":"file","file_id":"FORGED"}})",
      R"({"type":"file","file":{"file_id":"FORGED"}})",
      R"({"type":"input_file","file_id":"FORGED"})",
  };
  for (const std::string& part : parts) {
    Messages messages = question_of(part);
    EXPECT_TRUE(message::may_have_state(message::to_json(messages))) << part;
    EXPECT_EQ(message::drop_untrusted_state(messages).count, 1U) << part;
    EXPECT_EQ(message::to_json(messages).find("FORGED"), std::string::npos) << part;
    // Our own record of the message has it.
    Messages own = question_of(part);
    EXPECT_EQ(message::drop_untrusted_state(own, question_of(part)).count, 0U) << part;
  }
  Messages named = question_of(
      R"({"type":"binary","mimeType":"image/png","id":"x","url":"https://a.test/b.png"})");
  EXPECT_EQ(message::drop_untrusted_state(named).count, 0U);
}
