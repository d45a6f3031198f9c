#include "format/further_members.hpp"

#include <algorithm>

namespace millrace::format {

FurtherMembers::FurtherMembers(const message::Metadata& metadata, std::string_view provider) {
  const message::ProviderState* state = metadata.find(provider, further_kind);
  if (state == nullptr) return;
  if (const auto value = document_.parse(state->json)) value_ = value.value();
}

void FurtherMembers::write(message::JsonBuilder& out,
                           std::initializer_list<std::string_view> written) const {
  write_further(out, value_, written);
}

void write_further(message::JsonBuilder& out, const json::Value& members,
                   std::initializer_list<std::string_view> written) {
  for (const auto& [key, value] : members.members()) {
    if (std::find(written.begin(), written.end(), key) == written.end()) out.value(key, value);
  }
}

void write_state_members(message::JsonBuilder& out, const message::Metadata& metadata,
                         std::string_view provider, std::string_view kind) {
  const message::ProviderState* state = metadata.find(provider, kind);
  if (state == nullptr) return;
  json::Document document(message::depth_limit);
  const auto members = document.parse(state->json);
  if (members) write_further(out, members.value(), {});
}

}  // namespace millrace::format
