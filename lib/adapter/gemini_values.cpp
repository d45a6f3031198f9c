#include "adapter/gemini_values.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "adapter/adapter.hpp"
#include "base/json_members.hpp"

namespace millrace::adapter {
namespace {

constexpr std::string_view call_sentence = "The model returned a tool call that is not valid.";
constexpr std::string_view image_sentence = "The model returned no image.";
constexpr std::string_view unknown_sentence = "The provider stopped the response.";

// Finish reasons that mean the answer is not whole.
constexpr std::array<std::pair<std::string_view, std::string_view>, 19> gemini_sentences{{
    {"MAX_TOKENS", "The response was cut off because it reached the maximum output length."},
    {"SAFETY", filter_sentence},
    {"RECITATION", "The response was stopped because it repeats protected text."},
    {"LANGUAGE", "The model does not support the language."},
    {"OTHER", "The provider stopped the response and does not say why."},
    {"BLOCKLIST", filter_sentence},
    {"PROHIBITED_CONTENT", filter_sentence},
    {"MODEL_ARMOR", filter_sentence},
    {"SPII", "The response was stopped because it may hold personal data."},
    {"MALFORMED_FUNCTION_CALL", call_sentence},
    {"UNEXPECTED_TOOL_CALL", "The model called a tool although none was given."},
    {"TOO_MANY_TOOL_CALLS", "The model called tools too many times in a row."},
    {"MISSING_THOUGHT_SIGNATURE", "A thought signature is missing in the request."},
    {"MALFORMED_RESPONSE", "The model made a response that cannot be read."},
    {"IMAGE_SAFETY", filter_sentence},
    {"IMAGE_PROHIBITED_CONTENT", filter_sentence},
    {"IMAGE_RECITATION", "The image was stopped because it repeats a protected one."},
    {"IMAGE_OTHER", image_sentence},
    {"NO_IMAGE", image_sentence},
}};

// Google adds reasons; none of them but these means that nothing of the answer failed.
// FUNCTION_CALL is that of other servers of this API.
constexpr std::array<std::string_view, 5> whole_reasons{"", "STOP", "FINISH_REASON_UNSPECIFIED",
                                                        "FUNCTION_CALL", gemini_continuation};

constexpr std::string_view call_member = "functionCall";

// Appends the members of an object that are none of these.
void append_others(std::string& out, const json::Value& object,
                   std::initializer_list<std::string_view> known) {
  json::each_further(object, known, [&](const json::Member& member) {
    if (out.empty()) out.push_back('{');
    json::append_member(out, member);
  });
}

}  // namespace

std::string_view gemini_sentence(std::string_view reason) {
  const auto* whole = std::find(whole_reasons.begin(), whole_reasons.end(), reason);
  if (whole != whole_reasons.end()) return {};
  const auto* row = std::find_if(gemini_sentences.begin(), gemini_sentences.end(),
                                 [&](const auto& r) { return r.first == reason; });
  return row == gemini_sentences.end() ? unknown_sentence : row->second;
}

std::string signature_of(const json::Value& part) {
  const auto signature = part["thoughtSignature"].filled_string();
  if (!signature) return {};
  std::string out = R"({"google":{)";
  json::append_member(out, "thought_signature", *signature, json::Surrogates::keep);
  return out + "}}";
}

std::string members_of(const json::Value& part) {
  std::string out;
  if (part["codeExecutionResult"].exists()) {
    append_others(out, part, {"codeExecutionResult"});
  } else {
    append_others(out, part,
                  {"text", "thought", "thoughtSignature", call_member, "executableCode"});
  }
  const json::Value call = part[call_member];
  std::string inner;
  if (call["args"].exists()) {
    append_others(inner, call, {"id", "name", "args"});
  } else {
    append_others(inner, call, {"id", "name", "args", "partialArgs", "willContinue"});
  }
  if (!inner.empty()) {
    if (out.empty()) out.push_back('{');
    json::append_raw_member(out, call_member, inner + "}");
  }
  if (!out.empty()) out.push_back('}');
  return out;
}

std::string response_text(const json::Value& response) {
  for (const std::string_view key : {"output", "result"}) {
    if (response.size() == 1 && response[key].is_string()) {
      return std::string(response[key].string());
    }
  }
  return response.to_json(json::Surrogates::keep);
}

bool is_of_mixed_answer(const json::Value& usage, const json::Value& candidates) {
  if (usage["thoughtsTokenCount"].integer().value_or(0) > 0) return true;
  for (const json::Value candidate : candidates.items()) {
    const json::Value parts = candidate["content"]["parts"];
    for (const json::Value part : parts.items()) {
      if (part["functionCall"].exists()) continue;
      if (part["thoughtSignature"].filled_string()) return true;
      if (parts.size() > 1 && part["inlineData"].is_object()) return true;
    }
  }
  return false;
}

}  // namespace millrace::adapter
