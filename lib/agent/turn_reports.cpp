#include "agent/turn_reports.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace millrace::agent {
namespace {

using json::Tree;

constexpr std::size_t most_notes = 100;
constexpr const char* further_notes = "Further notes were left out.";
constexpr std::size_t most_answer_bytes = std::size_t{64} * 1024;

Tree& list_of(Tree& report, std::string_view name) {
  Tree* found = report.find(name);
  return found != nullptr ? *found : report.set(name, Tree::array());
}

void add_note(Tree& notes, const Tree& note) {
  auto& known = notes.items();
  const bool is_known = std::any_of(known.begin(), known.end(),
                                    [&](const Tree& one) { return one.string() == note.string(); });
  if (is_known || known.size() > most_notes) return;
  notes.push(known.size() < most_notes ? note : Tree::text(further_notes));
}

// How long a value is as JSON, or a little less where its strings have escapes. The list of a run
// is measured in each of its turns, so nothing is written for it.
std::size_t bytes_of(const Tree& value) {
  if (value.is_string()) return value.string().size() + 2;
  if (!value.is_object() && !value.is_array()) return value.to_json().size();
  std::size_t bytes = 2;
  for (const Tree& item : value.items()) bytes += bytes_of(item) + 1;
  for (const auto& [key, member] : value.members()) {
    bytes += key.view().size() + bytes_of(member) + 4;
  }
  return bytes;
}

void add_answers(Tree& report, const Tree& added, std::size_t known) {
  const auto& answers = added.items();
  if (answers.size() <= known) return;
  Tree& list = list_of(report, "answers");
  std::size_t bytes = bytes_of(std::as_const(list));
  std::int64_t left_out = 0;
  for (std::size_t at = known; at < answers.size(); ++at) {
    bytes += bytes_of(answers[at]) + 1;
    if (bytes > most_answer_bytes) {
      ++left_out;
    } else {
      // Most turns end as the one before did: a run holds what it reported of them once.
      const auto& listed = std::as_const(list).items();
      const bool is_as_before = !listed.empty() && listed.back() == answers[at];
      list.push(is_as_before ? listed.back() : answers[at]);
    }
  }
  if (left_out == 0) return;
  report.set("answersLeftOut", Tree::integer(report["answersLeftOut"].integer_or(0) + left_out));
}

}  // namespace

void add_report(Tree& state, const Tree& report, const Tree& before) {
  if (!report.is_object()) return;
  Tree& sum = state.at("report");
  for (const Tree& note : report["notes"].items()) add_note(list_of(sum, "notes"), note);
  add_answers(sum, report["answers"], before["answers"].items().size());
  const std::int64_t left_out =
      report["answersLeftOut"].integer_or(0) - before["answersLeftOut"].integer_or(0);
  if (left_out > 0) {
    sum.set("answersLeftOut", Tree::integer(sum["answersLeftOut"].integer_or(0) + left_out));
  }
  // What was added is fitted already.
  sum.fit_list();
}

}  // namespace millrace::agent
