// The records of Gemini's generateContent.
// Source: @google/genai, `GenerateContentResponse` (2026).
#include <array>

#include "adapter/record_shape.hpp"

namespace millrace::adapter::shapes {
namespace {

// Further members of parts go back with them.
constexpr std::array gemini_call_fields{text("name"), map("args"), text("id"), list("partialArgs"),
                                        flag("willContinue")};
constexpr Shape gemini_call{"functionCall", gemini_call_fields, Unknown::passed_on};
constexpr std::array gemini_response_fields{text("name"), raw("response"),   text("id"),
                                            raw("parts"), raw("scheduling"), raw("willContinue")};
constexpr Shape gemini_response{"functionResponse", gemini_response_fields};
constexpr std::array gemini_code_fields{text("language"), text("code"), text("id")};
constexpr Shape gemini_code{"executableCode", gemini_code_fields, Unknown::passed_on};
constexpr std::array gemini_result_fields{text("outcome"), text("output"), text("id")};
constexpr Shape gemini_result{"codeExecutionResult", gemini_result_fields, Unknown::passed_on};

constexpr std::array gemini_part_fields{text("text"),
                                        flag("thought"),
                                        text("thoughtSignature"),
                                        object("functionCall", gemini_call),
                                        object("functionResponse", gemini_response),
                                        object("executableCode", gemini_code),
                                        object("codeExecutionResult", gemini_result),
                                        map("inlineData"),
                                        map("fileData")};
constexpr Shape gemini_part{"part", gemini_part_fields, Unknown::passed_on};
constexpr std::array gemini_content_fields{list("parts", gemini_part), text("role")};
constexpr Shape gemini_content{"content", gemini_content_fields};

// Sources and probabilities have events of their own. The facts of a further candidate are in
// `alternatives`.
constexpr std::array gemini_candidate_fields{
    object("content", gemini_content), text("finishReason"),     whole("index"),
    carried("safetyRatings"),          carried("avgLogprobs"),   carried("tokenCount"),
    carried("continuationToken"),      carried("finishMessage"), map("groundingMetadata"),
    map("urlContextMetadata"),         map("citationMetadata"),  map("logprobsResult"),
    carried("groundingAttributions")};
constexpr Shape gemini_candidate{"candidate", gemini_candidate_fields, Unknown::carried};

constexpr std::array gemini_record_fields{list("candidates", gemini_candidate),
                                          map("usageMetadata"), text("modelVersion"),
                                          text("responseId"), raw("error")};
constexpr Shape gemini_record{"answer", gemini_record_fields, Unknown::carried};

}  // namespace

void check_gemini(const Report& report, std::string_view /*name*/, const json::Value& record) {
  const bool is_answer = record["candidates"].exists() || record["usageMetadata"].is_object() ||
                         record["promptFeedback"].is_object();
  if (is_answer || !record.is_object()) check_record(report, gemini_record, record);
}

}  // namespace millrace::adapter::shapes
