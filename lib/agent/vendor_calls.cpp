#include "agent/vendor_calls.hpp"

#include <string_view>

#include "agent/state.hpp"

namespace millrace::agent {

using json::Tree;

bool is_vendor_call(const Tree& state, const Tree& call) {
  return manifest_of(state, call["identifier"].string())["vendor"].is_true();
}

void mark_refused_calls(Tree& state) {
  Tree* rows = state.find("messages");
  if (rows == nullptr) return;
  for (Tree& row : rows->items()) {
    const Tree& known = row;
    const std::string_view status = known["pluginIntervention"]["status"].string();
    if (status != "rejected" && status != "aborted") continue;
    if (known["error"].is_null() && is_vendor_call(state, known["plugin"])) {
      row.set("error", known["content"]);
    }
  }
}

}  // namespace millrace::agent
