// The same actions as the model's in a real store, and what the real decision of recovery is.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "journal/page.hpp"
#include "recovery/model.hpp"
#include "store/backend.hpp"

namespace millrace::recovery {

// The id of a run of the model, or of an agent that it called.
store::RunId id_of(std::size_t run, std::size_t branch);

class StoreSide {
 public:
  // `clock` is the time of the backend.
  StoreSide(std::unique_ptr<store::StorageBackend> backend, std::int64_t& clock)
      : backend_(std::move(backend)), clock_(clock) {
    backend_->now();  // no time before it counts
  }

  // Does what the model has not done yet. Gives what came of it, as Model::apply does.
  std::string apply(const Model& before, const Action& action);
  // As Model::row.
  std::string row(const Model& model, std::size_t run);
  std::optional<std::int64_t> next_due();
  // What is wrong with the store; "" is nothing.
  std::string check();

 private:
  std::string accept(const Action& action);
  std::string claim(const Action& action);
  std::string sweep(const Model& before);
  std::string decide(const Model& before, const Action& action);
  std::string append(const Model& before, const Action& action);
  void add_model_facts(const Branch& branch, const Action& action, store::AppendBatch& batch);
  void add_call_facts(const Run& run, const Branch& branch, const Action& action,
                      store::AppendBatch& batch);
  void add_question(const Run& run, const Call& call, const Action& action,
                    store::AppendBatch& batch);
  void add_agent(const Run& run, const Call& call, const Action& action, store::AppendBatch& batch);
  void add_run_facts(const Run& run, const Action& action, store::AppendBatch& batch);
  void note(std::size_t branch, const journal::Fact& fact);

  std::unique_ptr<store::StorageBackend> backend_;
  std::int64_t& clock_;
  journal::PageWriter page_;
};

}  // namespace millrace::recovery
