// Histories of the vendors, and a member that nobody knows at each of their places.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>

#include "base/json_tree.hpp"

namespace millrace::test {

inline constexpr std::string_view unknown_member = "zz_unknown";

struct History {
  std::string_view format;
  std::string_view provider;  // whose requests have it
  std::string_view state;     // how notes call what is the vendor's
  std::string_view json;
};

inline constexpr std::array histories{
    History{
        "anthropic", "anthropic", "anthropic",
        R"({"system":[{"type":"text","text":"Be brief."},{"type":"text","text":"Be kind.",)"
        R"("cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{)"
        R"("type":"text","text":"Look"},{"type":"image","source":{"type":"base64",)"
        R"("media_type":"image/png","data":"aGk="}},{"type":"document","source":{"type":"url",)"
        R"("url":"https://d"},"title":"T","citations":{"enabled":true}}]},{"role":"assistant",)"
        R"("content":[{"type":"thinking","thinking":"Hm.","signature":"c2ln"},{"type":)"
        R"("redacted_thinking","data":"b3Bh"},{"type":"text","text":"See","citations":[{"type":)"
        R"("char_location","cited_text":"c","document_index":0}]},{"type":"tool_use","id":)"
        R"("toolu_1","name":"look","input":{"q":{"a":1}},"caller":{"type":"direct"}}]},{)"
        R"("role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{)"
        R"("type":"text","text":"Found"}]},{"type":"text","text":"Go on"}]},{"role":"assistant",)"
        R"("content":[{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{)"
        R"("query":"q"}},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[)"
        R"({"type":"web_search_result","url":"u","title":"t","encrypted_content":"e"}]},{"type":)"
        R"("text","text":"Done"}]}]})"},
    History{
        "gemini", "google", "google",
        R"({"systemInstruction":{"parts":[{"text":"Be brief."},{"text":"Be kind."}]},"contents":)"
        R"([{"role":"user","parts":[{"text":"Look"},{"inlineData":{"mimeType":"image/png",)"
        R"("data":"aGk="}},{"fileData":{"mimeType":"video/mp4","fileUri":"gs://v"},)"
        R"("videoMetadata":{"fps":1}}]},{"role":"model","parts":[{"text":"Hm.","thought":true,)"
        R"("thoughtSignature":"c2ln"},{"text":"See"},{"functionCall":{"id":"c1","name":"look",)"
        R"("args":{"q":{"a":1}}},"thoughtSignature":"c2ln"}]},{"role":"user","parts":[{)"
        R"("functionResponse":{"id":"c1","name":"look","response":{"output":"Found"}}},{"text":)"
        R"("Go on"}]},{"role":"model","parts":[{"executableCode":{"language":"PYTHON","code":)"
        R"("1"}},{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"1"}},{"text":"Done"},)"
        R"({"inlineData":{"mimeType":"image/png","data":"aGk="}}]}]})"},
    History{
        "bedrock_converse", "bedrock", "bedrock",
        R"({"system":[{"text":"Be brief."},{"cachePoint":{"type":"default"}}],"messages":[{)"
        R"("role":"user","content":[{"text":"Look"},{"image":{"format":"png","source":{"bytes":)"
        R"("aGk="}}},{"document":{"format":"pdf","name":"d","source":{"s3Location":{"uri":)"
        R"("s3://d"}}}}]},{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{)"
        R"("text":"Hm.","signature":"c2ln"}}},{"reasoningContent":{"redactedContent":"b3Bh"}},{)"
        R"("text":"See"},{"toolUse":{"toolUseId":"t1","name":"look","input":{"q":{"a":1}}}}]},)"
        R"({"role":"user","content":[{"toolResult":{"toolUseId":"t1","content":[{"text":)"
        R"("Found"}]}},{"text":"Go on"}]},{"role":"assistant","content":[{"text":"Done"}]}]})"},
    History{
        "openai_conversation", "openai", "openai_responses",
        R"([{"role":"user","content":[{"type":"input_text","text":"Look"},{"type":"input_image",)"
        R"("image_url":"https://i","detail":"low"},{"type":"input_file","file_id":"file-1"}],)"
        R"("type":"message"},{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text",)"
        R"("text":"A."},{"type":"summary_text","text":"B."}],"content":[{"type":)"
        R"("reasoning_text","text":"C."}],"encrypted_content":"gAAAA1"},{"role":"assistant",)"
        R"("content":[{"type":"output_text","text":"See","annotations":[{"type":"url_citation",)"
        R"("url":"u"}]}],"type":"message","id":"msg_1","status":"completed"},{"type":)"
        R"("function_call","call_id":"call_1","name":"look","arguments":"{}","id":"fc_1"},{)"
        R"("type":"function_call_output","call_id":"call_1","output":[{"type":"input_text",)"
        R"("text":"Found"}],"id":"fco_1"},{"type":"web_search_call","id":"ws_1","status":)"
        R"("completed","action":{"type":"search","query":"q"}},{"role":"user","content":"Go on",)"
        R"("type":"message"}])"},
    History{
        "openai", "openai", "openai_chat",
        R"([{"role":"system","content":"Be brief."},{"role":"user","content":[{"type":"text",)"
        R"("text":"Look"},{"type":"image_url","image_url":{"url":"https://i","detail":"low"}},{)"
        R"("type":"input_audio","input_audio":{"data":"aGk=","format":"wav"}},{"type":"file",)"
        R"("file":{"file_id":"file-1"}}]},{"role":"assistant","content":"See","tool_calls":[{)"
        R"("id":"c1","type":"function","function":{"name":"look","arguments":"{}"}},{"id":"c2",)"
        R"("type":"custom","custom":{"name":"write","input":"x"}}],"images":[{"type":)"
        R"("image_url","image_url":{"url":"https://j"}}],"audio":{"id":"audio_1"}},{"role":)"
        R"("tool","content":"Found","tool_call_id":"c1"},{"role":"tool","content":[{"type":)"
        R"("text","text":"Done"}],"tool_call_id":"c2"},{"role":"assistant","content":[{"type":)"
        R"("text","text":"A"},{"type":"refusal","refusal":"B"}]},{"role":"user","content":)"
        R"("Go on"}])"},
};

// Calls `visit` with a copy of the tree for each object in it, which has the unknown member, and
// with the object's path.
inline void for_each_object(
    const json::Tree& root,
    const std::function<void(const std::string& path, const json::Tree& marked)>& visit) {
  using json::Tree;
  // Gives the tree with the member at one place, as the whole that `wrap` makes of it.
  const std::function<void(const Tree&, const std::string&, const std::function<Tree(Tree)>&)>
      walk = [&](const Tree& at, const std::string& path, const std::function<Tree(Tree)>& wrap) {
        // The root is an object around the lists, which is no place of the API's.
        if (at.is_object() && !path.empty()) {
          Tree marked = at;
          marked.set(unknown_member, Tree::parse(R"({"a":[1,null,"w"]})").value());
          visit(path, wrap(marked));
        }
        for (const auto& [key, value] : at.members()) {
          const std::string name(key);
          walk(value, path + "." + name, [&, name](Tree inner) {
            Tree outer = at;
            outer.set(name, std::move(inner));
            return wrap(std::move(outer));
          });
        }
        for (std::size_t i = 0; i < at.items().size(); ++i) {
          walk(at.items()[i], path + "[" + std::to_string(i) + "]", [&, i](Tree inner) {
            Tree outer = at;
            outer.items()[i] = std::move(inner);
            return wrap(std::move(outer));
          });
        }
      };
  walk(root, "", [&](Tree marked) { return marked; });
}

}  // namespace millrace::test
