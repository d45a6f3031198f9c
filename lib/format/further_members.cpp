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

}  // namespace millrace::format
