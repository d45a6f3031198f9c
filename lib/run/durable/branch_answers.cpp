// What a run records of the model's answers, and how it goes on with one that an earlier process
// requested.
#include <utility>

#include "run/durable/branch_log.hpp"
#include "run/durable/stored_run.hpp"

namespace millrace::run {

void BranchLog::answer_read(const model::AnswerProgress& progress) {
  if (progress.begins) {
    read_.clear();
    note(journal::ModelOpened{place_.step, progress.id, true});
  }
  if (!progress.number) return;
  read_to_ = *progress.number;
  read_.append(progress.records);
}

void BranchLog::note_read() {
  const std::string read = std::exchange(read_, {});
  if (!read.empty()) note(journal::ModelProgress{read_to_, read});
  for (const auto& [call, child] : children_) child.log->note_read();
}

void BranchLog::before_model(std::int64_t step, const FirstModel& model, Request request) {
  if (step != place_.step) note(journal::StepStarted{step});
  place_.step = step;
  read_.clear();
  model::KnownAnswer known;
  if (!model.is_silent) {
    known = std::exchange(place_.known, {});
  } else if (!std::exchange(place_.known.records, {}).empty()) {
    place_.known.take_back();
  }
  const std::int64_t attempt = std::exchange(place_.model_attempt, 1);
  // One that goes on is the request that is recorded.
  if (known.records.empty()) {
    note(journal::ModelRequested{step, attempt, 0, model.model, model.provider});
    // A crash before the provider answers leads to the same response.
    if (!known.id.empty()) note(journal::ModelOpened{step, known.id, true});
    if (line_.options.counts) line_.options.counts->add_request(model.provider);
  }
  line_.gates.emplace_back([request = std::move(request), known] { request(known); });
}

// What is known of the answer that the provider goes on with, or nothing.
void BranchLog::know_answer(const StoredRun& stored, const journal::RecoveryPlan& plan,
                            const Hold& hold) {
  place_.known.id = plan.response_id;
  if (journal::goes_on_within(plan)) {
    place_.known.number = plan.upstream_seq;
    place_.known.records = plan.records;
    place_.known.trace = stored.trace_of(place_.branch);
    place_.known.take_back = hold(plan, place_.branch);
    place_.is_in_step = stored.is_in_step(place_.branch);
  }
}

}  // namespace millrace::run
