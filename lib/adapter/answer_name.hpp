// What the vendor calls an answer, for readers that call it so.
#pragma once

#include <string>
#include <string_view>

#include "adapter/adapter.hpp"
#include "event/answer_name.hpp"

namespace millrace::adapter {

// Thread: any, one at a time.
class AnswerName {
 public:
  // Takes the id that a record has for its answer, or "", and whether it says that the answer
  // mixes; see event::answer_kind.
  void note(const Services& services, std::string_view id, bool mixes = false) {
    const bool is_new = !id.empty() && id != id_;
    if (!services.vendor_ids || (!is_new && (!mixes || mixes_))) return;
    if (is_new) id_ = id;
    mixes_ = mixes_ || mixes;
    std::string state = "{";
    if (!id_.empty()) json::append_member(state, "id", id_);
    if (mixes_) json::append_raw_member(state, "mixes", "true");
    services.parts.pass(
        event::ProviderState{event::issuer_provider, event::answer_kind, {}, state.append("}")});
  }

 private:
  std::string id_;
  bool mixes_ = false;
};

}  // namespace millrace::adapter
