// What a provider's history holds beside texts, media and calls goes back to it as it came, at its
// place.

#include "format/retained.hpp"

#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "format/format.hpp"
#include "retained_histories.hpp"

using namespace millrace;
using namespace millrace::test;

namespace {

struct History {
  std::string name;
  std::string format;
  std::string data;
};

void PrintTo(const History& history, std::ostream* out) {
  *out << history.format << ": " << history.name;
}

const History histories[] = {
    {"a document with citations and context", "anthropic",
     claude_user(R"({"type":"document","source":{"type":"base64","media_type":"application/pdf",)"
                 R"("data":"QUJD"},"title":"T","context":"Old.","citations":{"enabled":true}})")},
    {"a document of blocks", "anthropic",
     claude_user(
         R"({"type":"document","source":{"type":"content","content":[{"type":"text",)"
         R"("text":"One."},{"type":"text","text":"Two."}]},"citations":{"enabled":true}})")},
    {"a document of text with citations", "anthropic",
     claude_user(
         R"({"type":"document","source":{"type":"text","media_type":"text/plain",)"
         R"("data":"Words."},"citations":{"enabled":true}},{"type":"text","text":"And?"})")},
    {"an image with transformations", "anthropic",
     claude_user(R"({"type":"image","source":{"type":"url","url":"https://e.com/a.png"},)"
                 R"("transformations":{"oversized_image":"reject"}})")},
    {"a search result between texts", "anthropic",
     claude_user(R"({"type":"text","text":"A"},{"type":"search_result","source":"https://e.com",)"
                 R"("title":"T","content":[{"type":"text","text":"Found."}]},)"
                 R"({"type":"text","text":"B"})")},
    {"a block of an unknown type", "anthropic",
     claude_user(R"({"type":"hologram","depth":3,"text":"Seen."})")},
    {"a result of tool references", "anthropic",
     claude_result(R"("content":[{"type":"tool_reference","tool_name":"weather"}])")},
    {"a result of several texts", "anthropic",
     claude_result(R"("content":[{"type":"text","text":"One ü"},{"type":"text","text":"Two"}],)"
                   R"("is_error":false)")},
    {"a result with a mark inside", "anthropic",
     claude_result(R"("content":[{"type":"text","text":"One","cache_control":)"
                   R"({"type":"ephemeral","ttl":"1h"}}])")},
    {"a failed result of several texts", "anthropic",
     claude_result(R"("content":[{"type":"text","text":"No"},{"type":"text","text":"way"}],)"
                   R"("is_error":true)")},
    {"a compaction between texts", "anthropic",
     claude_answer(R"({"type":"text","text":"A"},{"type":"compaction","content":"Sum",)"
                   R"("encrypted_content":"e","signature":"s"},{"type":"text","text":"B"})")},
    {"a compaction before a text", "anthropic",
     claude_answer(R"({"type":"compaction","content":"Sum","encrypted_content":"e"},)"
                   R"({"type":"text","text":"B"})")},
    {"a compaction alone", "anthropic",
     claude_answer(R"({"type":"compaction","content":"Sum","signature":"s"})")},
    {"a turn of the system", "anthropic",
     claude(R"({"role":"user","content":[{"type":"text","text":"Ask"}]},)"
            R"({"role":"system","content":[{"type":"text","text":"Be brief."},)"
            R"({"type":"tool_addition","tool":{"type":"tool_reference","name":"look"}}]},)"
            R"({"role":"user","content":[{"type":"text","text":"Go on"}]})")},
    {"guarded content", "bedrock_converse",
     bedrock_user(R"({"guardContent":{"text":{"text":"Guarded.","qualifiers":["query"]}}})")},
    {"a search result", "bedrock_converse",
     bedrock_user(R"({"searchResult":{"source":"https://e.com","title":"T",)"
                  R"("content":[{"text":"Found."}],"citations":{"enabled":true}}})")},
    {"sound", "bedrock_converse",
     bedrock_user(R"({"audio":{"format":"mp3","source":{"bytes":"QUJD"}}})")},
    {"a point of the cache between texts", "bedrock_converse",
     bedrock_user(R"({"text":"A"},{"cachePoint":{"type":"default","ttl":"1h"}},{"text":"B"})")},
    {"a document with citations", "bedrock_converse",
     bedrock_user(R"({"document":{"format":"pdf","name":"My file","source":{"bytes":"QUJD"},)"
                  R"("context":"Old.","citations":{"enabled":true}}},{"text":"And?"})")},
    {"a document of text", "bedrock_converse",
     bedrock_user(R"({"document":{"name":"a","source":{"text":"Words."}}},{"text":"And?"})")},
    {"a file of another account", "bedrock_converse",
     bedrock_user(R"({"video":{"format":"mpg","source":{"s3Location":{"uri":"s3://b/v",)"
                  R"("bucketOwner":"123"}}}})")},
    {"a medium of an address that is none of S3", "bedrock_converse",
     bedrock_result(R"("content":[{"video":{"format":"flv","source":{"s3Location":)"
                    R"({"uri":"arn:v"}}}}])")},
    {"a result of JSON and of a search", "bedrock_converse",
     bedrock_result(R"("content":[{"json":{"a":1}},{"searchResult":{"source":"s","title":"t",)"
                    R"("content":[{"text":"Found."}]}}],"status":"success")")},
    {"a result of several texts", "bedrock_converse",
     bedrock_result(R"("content":[{"text":"One"},{"text":"Two"}],"status":"error")")},
    {"an answer of texts, citations and an image", "bedrock_converse",
     bedrock_answer(R"({"text":"A"},{"citationsContent":{"content":[{"text":"B"}],)"
                    R"("citations":[{"title":"T"}]}},{"image":{"format":"png",)"
                    R"("source":{"bytes":"QUJD"}}},{"text":"C"})")},
    {"a prompt with a point of the cache", "bedrock_converse",
     R"({"system":[{"text":"Be brief."},{"cachePoint":{"type":"default"}},)"
     R"({"guardContent":{"text":{"text":"Guarded."}}}],"messages":[]})"},
    {"parts with further members", "gemini",
     gemini_user(R"({"text":"A","partMetadata":{"a":1}},{"inlineData":{"mimeType":"image/png",)"
                 R"("data":"QUJD","displayName":"D"},"mediaResolution":)"
                 R"({"level":"MEDIA_RESOLUTION_HIGH"}},{"fileData":{"mimeType":"video/mp4",)"
                 R"("fileUri":"https://e.com/v"},"videoMetadata":{"fps":1},"mediaProcessing":)"
                 R"("AGENTIC"},{"audioTranscription":{"text":"Heard."}})")},
    {"further members of messages and calls", "cohere",
     R"([{"role":"user","content":"Hi","a":1},{"role":"assistant","tool_calls":[{"id":"c1",)"
     R"("type":"function","function":{"name":"f","arguments":"{}","b":2},"c":3}]},)"
     R"({"role":"tool","tool_call_id":"c1","content":"R","d":4}])"},
    {"further members of messages and calls", "ollama",
     R"([{"role":"user","content":"Hi","a":1},{"role":"assistant","content":"","tool_calls":[)"
     R"({"id":"c1","function":{"name":"f","arguments":{},"b":2},"c":3}],"e":5},)"
     R"({"role":"tool","content":"R","tool_name":"f","tool_call_id":"c1","d":4}])"},
    {"ids of calls that look like other vendors'", "gemini",
     R"({"contents":[{"role":"user","parts":[{"text":"Hi"}]},{"role":"model","parts":[)"
     R"({"functionCall":{"id":"call_1","name":"f","args":{}}},)"
     R"({"functionCall":{"id":"8f14e45f-ceea-467f-a0f5-1b2c3d4e5f60","name":"f","args":{}}}]},)"
     R"({"role":"user","parts":[{"functionResponse":{"id":"call_1","name":"f",)"
     R"("response":{"output":"A"}}},{"functionResponse":{)"
     R"("id":"8f14e45f-ceea-467f-a0f5-1b2c3d4e5f60","name":"f",)"
     R"("response":{"output":"B"}}}]}]})"},
    {"a result that is an object", "gemini",
     gemini_result(R"("response":{"a":1,"b":{"c":true}},"scheduling":"SILENT"},)"
                   R"("partMetadata":{"x":1})")},
    {"a result with media", "gemini",
     gemini_result(R"("response":{"output":"Seen."},"parts":[{"inlineData":)"
                   R"({"mimeType":"image/png","data":"QUJD"}}]})")},
    {"further members of parts of an answer", "gemini",
     gemini_answer(R"({"text":"Hm.","thought":true,"thoughtSignature":"s1","partMetadata":)"
                   R"({"a":1}},{"text":"Yes.","speechMetadata":{"speaker":"A"}},)"
                   R"({"text":"No.","speechMetadata":{"speaker":"B"}},{"functionCall":{"id":"c1",)"
                   R"("name":"look","args":{},"willContinue":false},"partMetadata":{"b":2}})")},
    {"code that ran, with further members", "gemini",
     gemini_answer(R"({"executableCode":{"id":"e1","code":"1+1","language":"PYTHON"},)"
                   R"("partMetadata":{"a":1}},{"codeExecutionResult":{"id":"e1","outcome":)"
                   R"("OUTCOME_OK","output":"2"},"thoughtSignature":"s","partMetadata":{"b":2}})")},
    {"images between texts and calls", "gemini",
     gemini_answer(R"({"text":"A"},{"inlineData":{"mimeType":"image/png","data":"QUJD"}},)"
                   R"({"text":"B"},{"functionCall":{"id":"c1","name":"look","args":{}}},)"
                   R"({"inlineData":{"mimeType":"image/png","data":"REVG"}},{"text":"C"},)"
                   R"({"functionCall":{"id":"c2","name":"look","args":{"q":1}}})")},
    {"a call before what Google ran", "gemini",
     gemini_answer(R"({"functionCall":{"id":"c1","name":"look","args":{}}},{"executableCode":)"
                   R"({"id":"e1","code":"1"}},{"text":"T","thought":true,"thoughtSignature":"s"},)"
                   R"({"toolCall":{"id":"t1","toolType":"GOOGLE_SEARCH_WEB"}})")},
    {"thinking and server tools around calls", "anthropic",
     claude_answer(R"({"type":"tool_use","id":"c1","name":"look","input":{}},{"type":"thinking",)"
                   R"("thinking":"Hm.","signature":"s"},{"type":"server_tool_use","id":"s1",)"
                   R"("name":"web_search","input":{}},{"type":"tool_use","id":"c2","name":"look",)"
                   R"("input":{"q":1}},{"type":"container_upload","file_id":"f1"},)"
                   R"({"type":"text","text":"Yes."})")},
    {"lists of texts and members of parts", "openai_conversation",
     R"([{"role":"user","content":[{"type":"input_text","text":"A","prompt_cache_breakpoint":)"
     R"({"ttl":"1h"}},{"type":"input_file","filename":"f.pdf","file_id":"f1","detail":"low"}],)"
     R"("type":"message","status":"completed"},{"role":"system","content":[{"type":"input_text",)"
     R"("text":"B"},{"type":"input_text","text":"C"}],"type":"message"}])"},
    {"an answer with its annotations", "openai_conversation",
     R"([{"role":"user","content":"Ask","type":"message"},{"role":"assistant","content":)"
     R"([{"type":"output_text","text":"Yes.","annotations":[{"type":"url_citation","url":"u",)"
     R"("title":"t","start_index":0,"end_index":4}]},{"type":"refusal","refusal":"No."}],)"
     R"("type":"message","id":"msg_1","status":"incomplete"}])"},
    {"calls and results with all their members", "openai_conversation",
     R"([{"type":"function_call","call_id":"c1","name":"look","arguments":"{}","id":"fc_1",)"
     R"("status":"completed","async":true},{"type":"function_call_output","call_id":"c1","name":)"
     R"("look","namespace":"n","caller":{"type":"direct"},"output":[{"type":"input_text",)"
     R"("text":"A"},{"type":"input_text","text":"B"}],"id":"fco_1","status":"completed"}])"},
    {"reasoning with a summary and its text", "openai_conversation",
     R"([{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"S"}],)"
     R"("content":[{"type":"reasoning_text","text":"T"}],"encrypted_content":"gAAAAx",)"
     R"("status":"completed"}])"},
    {"thinking beside calls", "cohere",
     R"([{"role":"assistant","content":[{"type":"thinking","thinking":"Hm."},{"type":"text",)"
     R"("text":"Yes."}],"tool_plan":"Look.","tool_calls":[{"id":"c1","type":"function",)"
     R"("function":{"name":"look","arguments":"{}"}}],"citations":[{"start":0,"end":2}]}])"},
    {"text before thinking", "cohere",
     R"([{"role":"assistant","content":[{"type":"text","text":"Yes."},)"
     R"({"type":"thinking","thinking":"Hm."}]}])"},
    {"documents of a result", "cohere",
     R"([{"role":"tool","tool_call_id":"c1","content":[{"type":"document","document":)"
     R"({"id":"d1","data":"Words."}},{"type":"text","text":"More."}]}])"},
    {"an image with its detail", "cohere",
     R"([{"role":"user","content":[{"type":"image_url","image_url":)"
     R"({"url":"https://e.com/a.png","detail":"high"}}]}])"},
    {"blocks of both versions", "langgraph",
     R"([{"type":"human","content":[{"type":"text","text":"A","id":"t"},{"type":"image",)"
     R"("data":"QUJD","mimeType":"image/png","id":"b1"},{"type":"file","source_type":"base64",)"
     R"("data":"QUJD","mime_type":"application/pdf","metadata":{"filename":"f"}},)"
     R"({"type":"audio","url":"https://e.com/a.mp3"},{"type":"video","fileId":"v1"},)"
     R"({"type":"text-plain","text":"Words.","title":"T"},{"type":"non_standard",)"
     R"("value":{"a":1}}],"id":"h1"}])"},
    {"an image of a result", "langgraph",
     R"([{"type":"tool","content":[{"type":"text","text":"Seen."},{"type":"image","url":)"
     R"("https://e.com/a.png"}],"tool_call_id":"c1","id":"t1","name":"look","artifact":{"a":1},)"
     R"("status":"success"}])"},
    {"an answer with all it says of itself", "langgraph",
     R"([{"type":"ai","content":"Yes.","tool_calls":[{"id":"c1","name":"look","args":{}}],)"
     R"("invalid_tool_calls":[{"id":"c2","name":"look","args":"{","error":"no JSON"}],)"
     R"("id":"a1","name":"agent","additional_kwargs":{"k":1},"response_metadata":{"m":"x"},)"
     R"("usage_metadata":{"input_tokens":1}}])"},
    {"a call with members that are not known, in the content as well", "langgraph",
     R"([{"type":"ai","content":[{"type":"text","text":"A"},{"type":"tool_call","id":"c1",)"
     R"("name":"look","args":{},"zz":1},{"type":"text","text":"B"}],"tool_calls":[{"id":"c1",)"
     R"("name":"look","args":{},"zz":{"a":[1]}}],"id":"a1"}])"},
    {"messages that are removed, and results of functions", "langgraph",
     R"([{"type":"human","content":"Ask","id":"h1"},{"type":"function","content":"Done",)"
     R"("id":"f1","name":"look"},{"type":"remove","id":"h0","content":""}])"},
    {"parts and refusals of OpenAI", "openai",
     R"([{"role":"system","content":[{"type":"text","text":"A"},{"type":"text","text":"B"}]},)"
     R"({"role":"user","content":[{"type":"text","text":"A","prompt_cache_breakpoint":)"
     R"({"ttl":"1h"}},{"type":"image_url","image_url":{"url":"data:image/png;base64,QUJD"},)"
     R"("prompt_cache_breakpoint":{"ttl":"1h"}}]},{"role":"assistant","content":null,)"
     R"("refusal":"No."},{"role":"assistant","content":[{"type":"text","text":"Yes."},)"
     R"({"type":"refusal","refusal":"No."}]}])"},
    {"a call and its result in the form before tool calls", "openai",
     R"([{"role":"user","content":"Ask"},{"role":"assistant","content":null,"function_call":)"
     R"({"name":"look","arguments":"{}"}},{"role":"function","name":"look","content":"Seen."}])"},
    {"documents of a result and numbers of calls of Mistral", "openai",
     R"([{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":)"
     R"({"name":"look","arguments":"{}"},"index":0}]},{"role":"tool","content":[{"type":)"
     R"("document_url","document_url":"https://e.com/a.pdf","document_name":"a"},{"type":"text",)"
     R"("text":"Seen."}],"tool_call_id":"c1"}])"},
    {"an image that is an address alone", "langgraph",
     R"([{"type":"human","content":[{"type":"image_url","image_url":"https://e.com/a.png"}],)"
     R"("id":"h1"}])"},
    {"images of outputs with and without a detail", "openai_conversation",
     R"([{"type":"function_call","call_id":"c1","name":"look","arguments":"{}"},{"type":)"
     R"("shell_call","call_id":"s1","action":{"commands":["ls"]}},{"type":"function_call_output",)"
     R"("call_id":"c1","output":[{"type":"input_image","image_url":"https://e.com/a.png"},{"type":)"
     R"("input_image","image_url":"https://e.com/b.png","detail":"auto"}]}])"},
    {"a reference and a failure that says more than its text", "openai_conversation",
     R"([{"id":"msg_1"},{"type":"mcp_call","id":"mcp_1","name":"look","arguments":"{}",)"
     R"("server_label":"s","output":"","error":{"type":"http_error","code":500,"message":"No."}}])"},
    {"calls of a server without an output", "openai_conversation",
     R"([{"type":"mcp_call","id":"mcp_1","name":"look","arguments":"{}","server_label":"s",)"
     R"("output":null},{"type":"mcp_call","id":"mcp_2","name":"look","arguments":"{}",)"
     R"("server_label":"s"},{"type":"mcp_call","id":"mcp_3","name":"look","arguments":"{}",)"
     R"("server_label":"s","output":""},{"type":"mcp_call","id":"mcp_4","name":"look",)"
     R"("arguments":"{}","server_label":"s","output":null,"error":"No."}])"},
    {"what Google ran before a text", "gemini",
     gemini_answer(R"({"toolCall":{"id":"t1","toolType":"GOOGLE_SEARCH_WEB","args":{"queries":)"
                   R"(["q"]}}},{"toolResponse":{"id":"t1","toolType":"GOOGLE_SEARCH_WEB",)"
                   R"("response":{"r":1}},"thoughtSignature":"s"},{"text":"Yes."})")},
    {"a result with a named file", "gemini",
     gemini_result(R"("response":{"output":"Seen."},"parts":[{"inlineData":{"mimeType":)"
                   R"("image/png","data":"QUJD","displayName":"a.png"}},{"fileData":)"
                   R"({"mimeType":"application/pdf","fileUri":"gs://b/f.pdf"}}]})")},
    {"a part of an unknown kind", "gemini", gemini_user(R"({"hologram":{"depth":"3"}})")},
    {"marks on calls, results and texts of the model", "anthropic",
     claude(R"({"role":"assistant","content":[{"type":"text","text":"A","cache_control":)"
            R"({"type":"ephemeral"}},{"type":"tool_use","id":"c1","name":"look","input":{},)"
            R"("cache_control":{"type":"ephemeral","ttl":"1h"}}]},{"role":"user","content":)"
            R"([{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"R"}],)"
            R"("cache_control":{"type":"ephemeral"}}]})")},
    {"a compaction that changed the tools", "anthropic",
     claude_answer(R"({"type":"compaction","content":"Sum","encrypted_content":"e","tool_changes":)"
                   R"([{"type":"tool_removal","tool":{"type":"tool_reference","name":"x"}}]},)"
                   R"({"type":"text","text":"B"})")},
    {"a tool that the system takes away", "anthropic",
     claude(R"({"role":"user","content":[{"type":"text","text":"Ask"}]},{"role":"system",)"
            R"("content":[{"type":"tool_removal","tool":{"type":"tool_reference","name":)"
            R"("look"}}]},{"role":"user","content":[{"type":"text","text":"Go on"}]})")},
    {"searches between reasoning", "openai_conversation",
     items(R"({"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAAA1"},)"
           R"({"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":)"
           R"("search","query":"q"}},{"type":"reasoning","id":"rs_2","summary":[],)"
           R"("encrypted_content":"gAAAA2"},{"type":"web_search_call","id":"ws_2","status":)"
           R"("completed","action":{"type":"search","query":"q"}},{"type":"reasoning","id":)"
           R"("rs_3","summary":[],"encrypted_content":"gAAAA3"},{"type":"message","id":"msg_1",)"
           R"("role":"assistant","status":"completed","content":[{"type":"output_text","text":)"
           R"("Yes.","annotations":[]}]})")},
    {"a computer that was used", "openai_conversation",
     items(R"({"type":"computer_call","id":"cu_1","call_id":"c1","status":"completed","actions":)"
           R"([{"type":"click","x":1,"y":2,"button":"left"}],"pending_safety_checks":[]},)"
           R"({"type":"computer_call_output","call_id":"c1","output":{"type":)"
           R"("computer_screenshot","image_url":"data:image/png;base64,QUJD"},)"
           R"("acknowledged_safety_checks":[{"id":"s","code":"c","message":"m"}]})")},
    {"a shell in a container", "openai_conversation",
     items(R"({"type":"shell_call","id":"sh_1","call_id":"c1","status":"completed","action":)"
           R"({"commands":["ls"],"timeout_ms":1},"environment":{"type":"container_reference",)"
           R"("container_id":"cntr_1"}},{"type":"shell_call_output","id":"so_1","call_id":"c1",)"
           R"("max_output_length":3,"output":[{"stdout":"a","stderr":"","outcome":{"type":)"
           R"("exit","exit_code":0}}],"status":"completed"})")},
    {"a shell of the host", "openai_conversation",
     items(R"({"type":"local_shell_call","id":"lsh_1","call_id":"c2","status":"completed",)"
           R"("action":{"type":"exec","command":["ls"],"env":{"A":"b"}}},{"type":)"
           R"("local_shell_call_output","id":"lsh_1","output":"done"})")},
    {"a patch that failed", "openai_conversation",
     items(R"({"type":"apply_patch_call","id":"ap_1","call_id":"c1","status":"completed",)"
           R"("operation":{"type":"update_file","path":"p","diff":"d"}},{"type":)"
           R"("apply_patch_call_output","call_id":"c1","status":"failed","output":"No."})")},
    {"a search for tools by the provider", "openai_conversation",
     items(R"({"type":"tool_search_call","id":"ts_1","call_id":null,"execution":"server",)"
           R"("arguments":{"q":1},"status":"completed"},{"type":"tool_search_output","id":"to_1",)"
           R"("call_id":null,"execution":"server","status":"completed","tools":[{"type":)"
           R"("function","name":"f","parameters":{},"strict":true}]})")},
    {"a search for tools by the host", "openai_conversation",
     items(R"({"type":"tool_search_call","id":"ts_2","call_id":"c1","execution":"client",)"
           R"("arguments":{},"status":"completed"},{"type":"tool_search_output","call_id":"c1",)"
           R"("execution":"client","status":"completed","tools":[]})")},
    {"outputs without their calls", "openai_conversation",
     items(R"({"type":"custom_tool_call_output","call_id":"c8","output":"a"},)"
           R"({"type":"function_call_output","call_id":"c9","output":"b"})")},
    {"an image that was generated", "openai_conversation",
     items(R"({"type":"image_generation_call","id":"ig_1","status":"completed","result":)"
           R"("QUJD"})")},
    {"images and files of a developer", "openai_conversation",
     items(R"({"type":"message","role":"developer","content":[{"type":"input_text","text":"A"},)"
           R"({"type":"input_image","image_url":"https://e.com/a.png","detail":"auto"},)"
           R"({"type":"input_file","file_id":"f1","filename":"a.pdf"}]})")},
    {"blocks of Python", "langgraph",
     R"([{"type":"human","content":[{"type":"image","base64":"QUJD","mime_type":"image/png"},)"
     R"({"type":"file","base64":"REVG","mime_type":"application/pdf","extras":{"a":1}},)"
     R"({"type":"video","file_id":"v1"}],"id":"h1"}])"},
    {"parts of Mistral", "openai",
     R"([{"role":"user","content":[{"type":"text","text":"A"},{"type":"reference",)"
     R"("reference_ids":[1]},{"type":"thinking","thinking":[{"type":"text","text":"Hm."}]}]},)"
     R"({"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text",)"
     R"("text":"Hm."}],"signature":"s","closed":true},{"type":"text","text":"Yes."},)"
     R"({"type":"reference","reference_ids":["r"]}]}])"},
};

class Retained : public testing::TestWithParam<History> {};

std::string case_name(const testing::TestParamInfo<History>& row) {
  return std::regex_replace(row.param.format + "_" + row.param.name, std::regex("[^A-Za-z0-9]+"),
                            "_");
}

}  // namespace

TEST_P(Retained, GoesBackAsItCame) {
  const auto& [name, format_name, data] = GetParam();
  const format::Format* format = format::find_format(format_name);
  ASSERT_NE(format, nullptr);
  CountingIds ids("id-");
  const auto messages = format::from_api(*format, data, ids);
  ASSERT_TRUE(messages.ok()) << messages.error().message;
  const auto again = format::to_api(*format, messages.value());
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(sorted_text(again.value()), sorted_text(data)) << messages.value();
}

INSTANTIATE_TEST_SUITE_P(Histories, Retained, testing::ValuesIn(histories), case_name);

// Their words are a text everywhere else.
TEST(RetainedHistories, AreTextInOtherFormats) {
  for (const auto& [name, format_name, data] : histories) {
    const bool has_words =
        data.find("Found.") != std::string::npos || data.find("Guarded.") != std::string::npos;
    if (!has_words) continue;
    CountingIds ids("id-");
    const auto messages = format::from_api(*format::find_format(format_name), data, ids);
    ASSERT_TRUE(messages.ok());
    const std::string words = data.find("Found.") != std::string::npos ? "Found." : "Guarded.";
    for (const char* other : {"openai", "gemini", "cohere", "ollama"}) {
      const auto sent = format::to_api(*format::find_format(other), messages.value());
      ASSERT_TRUE(sent.ok());
      EXPECT_NE(sent.value().find(words), std::string::npos) << name << " into " << other;
    }
  }
}
