// What Google's own tools did: code that was run, and sources.
#include <algorithm>
#include <array>
#include <iterator>
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
  const std::string_view given = value["id"].string();
  const std::string id = answer_.whole_call(given, "code_execution", arguments, signature_of(part));
  services_.parts.pass(event::ProviderState{gemini_provider, "server_tool", id, value.to_json()});
  keep_members("members", id, members_of(part));
  codes_.push_back({std::string(given), id});
}

// The call of the code that a result is of: the one it names, else the last that has none; "" when
// there is none.
std::string Gemini::take_code(std::string_view given) {
  const auto named = std::find_if(codes_.rbegin(), codes_.rend(), [&](const Code& code) {
    return !given.empty() && code.given_id == given;
  });
  const auto code = named == codes_.rend() ? codes_.rbegin() : named;
  if (code == codes_.rend()) return {};
  std::string id = std::move(code->call_id);
  codes_.erase(std::next(code).base());
  return id;
}

void Gemini::on_code_result(const json::Value& value, const json::Value& part) {
  const std::string_view outcome = value["outcome"].string();
  const bool failed = !outcome.empty() && outcome != "OUTCOME_OK";
  std::string id = take_code(value["id"].string());
  if (id.empty()) {
    // A result without its code belongs to a call that shows nothing and is not sent back.
    id = answer_.whole_call(value["id"].string(), "code_execution", "{}");
    services_.parts.pass(event::ProviderState{gemini_provider, "server_tool", id, "{}"});
  }
  answer_.result(id, value["output"].string(), failed, outcome);
  services_.parts.pass(
      event::ProviderState{gemini_provider, "server_tool_result", id, value.to_json()});
  keep_members("result_members", id, members_of(part));
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
