// Histories of the tests of what a provider's history holds.
#pragma once

#include <map>
#include <string>

#include "base/json.hpp"

namespace millrace::test {

// The JSON text with the members of each object in the order of their names.
inline std::string sorted(const json::Value& value) {
  if (value.is_array()) {
    std::string out = "[";
    for (const json::Value item : value.items()) {
      out += (out.size() > 1 ? "," : "") + sorted(item);
    }
    return out + "]";
  }
  if (!value.is_object()) return value.to_json();
  std::map<std::string, std::string> members;
  for (const auto& [key, member] : value.members()) members[std::string(key)] = sorted(member);
  std::string out = "{";
  for (const auto& [key, member] : members) {
    out += (out.size() > 1 ? ",\"" : "\"") + key + "\":" + member;
  }
  return out + "}";
}

inline std::string sorted_text(const std::string& text) {
  json::Document document(512);
  const auto value = document.parse(text);
  return value ? sorted(value.value()) : "no JSON: " + text;
}

inline std::string claude(const std::string& turns) {
  return R"({"messages":[)" + turns + "]}";
}

inline std::string claude_user(const std::string& blocks) {
  return claude(R"({"role":"user","content":[)" + blocks + "]}");
}

inline std::string claude_answer(const std::string& blocks) {
  return claude(R"({"role":"user","content":[{"type":"text","text":"Ask"}]},)"
                R"({"role":"assistant","content":[)" +
                blocks + "]}");
}

inline std::string claude_result(const std::string& members) {
  return claude(
      R"({"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"look","input":{},)"
      R"("toolset_name":"maps"}]},{"role":"user","content":[{"type":"tool_result",)"
      R"("tool_use_id":"c1","toolset_name":"maps",)" +
      members + "}]}");
}

inline std::string bedrock_user(const std::string& blocks) {
  return R"({"messages":[{"role":"user","content":[)" + blocks + "]}]}";
}

inline std::string bedrock_answer(const std::string& blocks) {
  return R"({"messages":[{"role":"user","content":[{"text":"Ask"}]},)"
         R"({"role":"assistant","content":[)" +
         blocks + R"(]},{"role":"user","content":[{"text":"Go on"}]}]})";
}

inline std::string bedrock_result(const std::string& members) {
  return R"({"messages":[{"role":"assistant","content":[)"
         R"({"toolUse":{"toolUseId":"c1","name":"look","input":{}}}]},)"
         R"({"role":"user","content":[{"toolResult":{"toolUseId":"c1",)" +
         members + "}}]}]}";
}

inline std::string gemini_user(const std::string& parts) {
  return R"({"contents":[{"role":"user","parts":[)" + parts + "]}]}";
}

inline std::string gemini_answer(const std::string& parts) {
  return R"({"contents":[{"role":"user","parts":[{"text":"Ask"}]},{"role":"model","parts":[)" +
         parts + "]}]}";
}

inline std::string gemini_result(const std::string& members) {
  return R"({"contents":[{"role":"model","parts":[{"functionCall":{"id":"c1","name":"look",)"
         R"("args":{}}}]},{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"look",)" +
         members + "}]}]}";
}

inline std::string items(const std::string& more) {
  return R"([{"type":"message","role":"user","content":"Ask"},)" + more + "]";
}

}  // namespace millrace::test
