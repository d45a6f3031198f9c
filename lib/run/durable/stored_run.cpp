#include "run/durable/stored_run.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "journal/checkpoint.hpp"
#include "journal/page.hpp"

namespace millrace::run {
namespace {

using json::Tree;

constexpr std::size_t load_limit = std::size_t{1} << 20U;

// What a fact tells of a run besides what the fold keeps.
void take_fact(StoredRun& run, const journal::Fact& fact) {
  if (const auto* accepted = std::get_if<journal::Accepted>(&fact)) {
    run.client_tools_json = accepted->client_tools_json;
  } else if (const auto* segment = std::get_if<journal::Segment>(&fact)) {
    run.ag_ui_run = segment->ag_ui_run;
    run.parent_run_id = segment->parent;
    run.protocol = segment->protocol;
  } else if (const auto* decided = std::get_if<journal::ApprovalDecided>(&fact)) {
    run.answers.emplace_back(decided->decision_json);
  } else if (std::holds_alternative<journal::Checkpoint>(fact)) {
    run.answers.clear();
  }
}

Result<void> read_records(store::StorageBackend& backend, StoredRun& run) {
  std::uint64_t after = 0;
  const std::uint64_t last = run.claim.run.last;
  while (after < last) {
    auto pages = backend.read(run.claim.run.run.id, after, load_limit);
    if (!pages) return pages.error();
    if (pages.value().empty()) break;
    for (const store::StoredPage& page : pages.value()) {
      journal::PageReader records(page.bytes, page.last, page.count);
      while (true) {
        auto record = records.next();
        if (!record) return record.error();
        if (record.value() == nullptr) break;
        run.fold.add(*record.value());
        run.open.add(*record.value());
        const auto* fact = std::get_if<journal::Fact>(&record.value()->body);
        if (fact != nullptr && record.value()->branch == 0) take_fact(run, *fact);
      }
      after = page.last;
    }
  }
  return {};
}

}  // namespace

// What one event begins or ends.
class OpenParts::Change {
 public:
  explicit Change(OpenParts& open) : open_(open) {}

  void operator()(const event::TextStart& event) const { begin(Part::Kind::text, event.id); }
  void operator()(const event::TextEnd& event) const { end(Part::Kind::text, event.id); }
  void operator()(const event::ReasoningStart& event) const {
    begin(Part::Kind::reasoning, event.id);
  }
  void operator()(const event::ReasoningEnd& event) const { end(Part::Kind::reasoning, event.id); }
  void operator()(const event::ReasoningSpanStart& event) const {
    begin(Part::Kind::span, event.id);
  }
  void operator()(const event::ReasoningSpanEnd& event) const { end(Part::Kind::span, event.id); }
  void operator()(const event::ToolStart& event) const { begin(Part::Kind::call, event.id); }
  void operator()(const event::ToolEnd& event) const { end(Part::Kind::call, event.id); }
  void operator()(const event::StepStart& event) const { open_.step_ = event.name; }
  void operator()(const event::StepEnd& /*event*/) const { open_.step_.clear(); }
  template <class Other>
  void operator()(const Other& /*event*/) const {}

 private:
  void begin(Part::Kind kind, std::string_view id) const {
    open_.parts_.push_back({kind, std::string(id)});
  }
  void end(Part::Kind kind, std::string_view id) const {
    std::erase(open_.parts_, Part{kind, std::string(id)});
  }
  OpenParts& open_;
};

void OpenParts::add(const journal::Record& record) {
  if (record.branch != 0) return;
  const auto* event = std::get_if<event::Event>(&record.body);
  if (event != nullptr && event->subagent.empty()) std::visit(Change(*this), event->body);
}

void OpenParts::close(event::EventSink& sink) const {
  for (auto part = parts_.rbegin(); part != parts_.rend(); ++part) {
    switch (part->kind) {
      case Part::Kind::text: sink.on_event({event::TextEnd{part->id}}); break;
      case Part::Kind::reasoning: sink.on_event({event::ReasoningEnd{part->id}}); break;
      case Part::Kind::span: sink.on_event({event::ReasoningSpanEnd{part->id}}); break;
      case Part::Kind::call: sink.on_event({event::ToolEnd{part->id}}); break;
    }
  }
}

Result<StoredState> load_state(store::StorageBackend& backend, const store::RunId& run) {
  auto rows = backend.checkpoints(run);
  if (!rows) return rows.error();
  StoredState state;
  for (const store::CheckpointRow& row : rows.value()) {
    if (row.is_full) {
      auto parsed = Tree::parse(row.data);
      if (!parsed) return make_error(Errc::store_damaged, "A checkpoint is not JSON.");
      state.checkpoint = std::move(parsed).value();
    } else {
      MILLRACE_TRY(journal::apply_checkpoint(state.checkpoint, row.data));
    }
    state.next_number = row.number + 1;
  }
  return state;
}

Result<std::shared_ptr<StoredRun>> load_run(store::StorageBackend& backend, store::Claim claim) {
  auto run = std::make_shared<StoredRun>();
  run->claim = std::move(claim);
  MILLRACE_TRY(read_records(backend, *run));
  auto state = load_state(backend, run->claim.run.run.id);
  if (!state) return state.error();
  run->checkpoint = std::move(state.value().checkpoint);
  run->next_checkpoint = state.value().next_number;
  auto calls = backend.calls(run->claim.run.run.id);
  if (!calls) return calls.error();
  for (store::CallRow& row : calls.value()) {
    std::string id = row.call;
    run->ledger.emplace(std::move(id), std::move(row));
  }
  return run;
}

}  // namespace millrace::run
