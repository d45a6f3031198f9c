#include "model/body/bedrock_fields.hpp"

#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "model/body/fields.hpp"

namespace millrace::model {
namespace {

constexpr std::string_view fields_member = "additionalModelRequestFields";
constexpr std::string_view betas_member = "anthropic_beta";

void add_betas(std::vector<std::string>& betas, const json::Value& given) {
  std::unordered_set<std::string> known(betas.begin(), betas.end());
  const auto add = [&](std::string_view name) {
    if (!name.empty() && known.emplace(name).second) betas.emplace_back(name);
  };
  add(given.string());
  for (const json::Value name : given.items()) add(name.string());
}

}  // namespace

void write_bedrock_betas(message::JsonBuilder& out, const Draft& draft) {
  std::vector<std::string> betas;
  json::Document document;
  if (const auto given = document.parse(extra_of(draft.payload, betas_member))) {
    add_betas(betas, given.value());
  }
  json::Document fields;
  if (const auto given = fields.parse(extra_of(draft.payload, fields_member))) {
    add_betas(betas, given.value()[betas_member]);
  }
  write_strings(out, betas_member, betas);
}

std::string with_given_fields(std::string made, const Draft& draft) {
  // The API takes any value of JSON; only an object goes together with settings.
  const std::string_view text = extra_of(draft.payload, fields_member);
  json::Document document(message::depth_limit);
  const auto given = document.parse(text);
  if (made == "{}" && given && !given.value().is_object()) return std::string(text);
  return with_given(std::move(made), draft, fields_member);
}

}  // namespace millrace::model
