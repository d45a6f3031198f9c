// What Google's own tools did: code that was run, and sources.
#include <array>
#include <utility>

#include "adapter/gemini.hpp"
#include "adapter/gemini_values.hpp"

namespace millrace::adapter {

void Gemini::on_response(const json::Value& value, const json::Value& /*part*/) {
  const json::Value response = value["response"];
  const std::string text = response_text(response);
  answer_.result(value["id"].string(), text, !response["error"].is_nothing());
}

void Gemini::on_code(const json::Value& value, const json::Value& part) {
  std::string arguments = "{";
  for (const std::string_view key : {"language", "code"}) {
    json::append_member(arguments, key, value[key].string(), json::Surrogates::keep);
  }
  arguments.push_back('}');
  code_id_ =
      answer_.whole_call(value["id"].string(), "code_execution", arguments, signature_of(part));
  services_.parts.pass(
      event::ProviderState{gemini_provider, "server_tool", code_id_, value.to_json()});
  keep_members("members", code_id_, members_of(part));
}

void Gemini::on_code_result(const json::Value& value, const json::Value& part) {
  const std::string_view outcome = value["outcome"].string();
  const bool failed = !outcome.empty() && outcome != "OUTCOME_OK";
  // A result without its code would belong to no call.
  if (code_id_.empty()) code_id_ = answer_.whole_call(value["id"].string(), "code_execution", "{}");
  answer_.result(code_id_, value["output"].string(), failed, outcome);
  services_.parts.pass(
      event::ProviderState{gemini_provider, "server_tool_result", code_id_, value.to_json()});
  keep_members("result_members", code_id_, members_of(part));
}

void Gemini::on_sources(const json::Value& candidate) {
  if (!candidate.may_have({"groundingMetadata", "urlContextMetadata", "citationMetadata"})) return;
  constexpr std::array<std::string_view, 2> kinds{"groundingMetadata", "urlContextMetadata"};
  for (std::size_t at = 0; at < kinds.size(); ++at) {
    const json::Value sources = candidate[kinds[at]];
    if (sources.size() == 0) continue;
    std::string json = sources.to_json();
    if (json == sources_[at]) continue;
    answer_.cite(json);
    sources_[at] = std::move(json);
  }
  // Google's two APIs name them differently.
  for (const std::string_view list : {"citationSources", "citations"}) {
    for (const json::Value source : candidate["citationMetadata"][list].items()) {
      answer_.cite(source.to_json());
    }
  }
}

}  // namespace millrace::adapter
