#include "run/durable/answered_before.hpp"

#include <string>

#include "agent/superseded.hpp"
#include "base/shown.hpp"
#include "store/rules.hpp"

namespace millrace::run {
namespace {

using json::Tree;

// "" for a value that the agent asked for.
std::string_view decision_word(std::string_view decision) {
  const auto entry = Tree::parse(decision);
  if (!entry) return "";
  const std::string_view status = entry.value()["status"].string();
  if (status == "cancelled") return "cancelled";
  if (status == agent::superseded_status) return "its tool has changed, and the user is asked anew";
  const Tree& approved = entry.value()["payload"]["approved"];
  if (approved.is_null()) return "";
  return approved.is_true() ? "approved" : "denied";
}

}  // namespace

Error answered_before(const store::ApprovalRow& approval) {
  const std::string name = shown_text(approval.id);
  if (!approval.decided) {
    return make_error(Errc::approval_answered,
                      "The interrupt " + name + " has expired, or its run has ended.");
  }
  const std::string_view word = decision_word(approval.decision);
  return make_error(Errc::approval_answered,
                    "The interrupt " + name + " was already answered" +
                        (word.empty() ? std::string() : ": " + std::string(word)) + ".");
}

Error unanswerable(Error error) {
  if (error.code != Errc::store_damaged) return error;
  error.message.append(
      " The run cannot take an answer. A new message in its thread goes on without it, and a stop "
      "ends it.");
  return error;
}

Result<std::optional<Error>> find_answered(store::StorageBackend& backend, const Tree& resume,
                                           std::string_view principal, std::string_view thread) {
  for (const Tree& entry : resume.items()) {
    const std::string id(entry["interruptId"].string());
    auto rows = backend.approvals({std::string(principal), std::nullopt, false, id});
    if (!rows) return rows.error();
    for (const store::ApprovalRow& row : rows.value()) {
      auto run = backend.run(row.run);
      if (!run) return run.error();
      if (!run.value() || run.value()->run.thread != thread) continue;
      if (store::is_damaged(*run.value())) {
        return std::optional(unanswerable(make_error(
            Errc::store_damaged, "Records of the run " + row.run.text() + " are damaged.")));
      }
      const bool has_expired =
          row.has_expired || (row.expires != 0 && row.expires <= backend.now());
      if (row.decided || has_expired || journal::is_over(run.value()->state)) {
        return std::optional(answered_before(row));
      }
    }
  }
  return std::optional<Error>();
}

}  // namespace millrace::run
