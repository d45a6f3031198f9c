#include "model/body/bedrock_fields.hpp"

#include <string>
#include <unordered_set>
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

// All members of `made`, and those of `given` that it has not got.
void write_merged(message::JsonBuilder& out, const json::Value& made, const json::Value& given,
                  bool deep) {
  for (const auto& [key, value] : made.members()) {
    const json::Value other = given[std::string_view(key)];
    if (deep && value.is_object() && other.is_object()) {
      out.open_object(key);
      write_merged(out, value, other, false);
      out.close_object();
    } else {
      out.value(key, value);
    }
  }
  for (const auto& [key, value] : given.members()) {
    if (!made[std::string_view(key)].exists()) out.value(key, value);
  }
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
  const std::string_view text = extra_of(draft.payload, fields_member);
  if (text.empty()) return made;
  json::Document given_document(message::depth_limit);
  json::Document made_document(message::depth_limit);
  const auto given = given_document.parse(text);
  const auto own = made_document.parse(made);
  if (!given || !own || !given.value().is_object()) {
    draft.note(fields_member, "It must be an object: it was left out.");
    return made;
  }
  message::JsonBuilder out(json::Surrogates::replace);
  out.open_object();
  write_merged(out, own.value(), given.value(), true);
  out.close_object();
  return out.take();
}

}  // namespace millrace::model
