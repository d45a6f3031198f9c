// The run that a request names, by its own id or that of an AG-UI run.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"
#include "store/store_work.hpp"
#include "store/types.hpp"

namespace millrace::run {

// Where the records of the run begin for a reader that has this id.
struct RunPlace {
  store::RunRow row;
  std::uint64_t before = 0;
  bool one_run = false;
};

// The run, where it is one of this principal; "" is anybody.
// Errors: run_not_found; those of the backend.
Result<store::RunRow> find_run(store::StorageBackend& backend, const store::RunId& run,
                               std::string_view principal);

// `principal` "" is anybody; the thread, "" for any, counts for ids of AG-UI runs. Runs of the
// agent `hidden`, and those that work for them, are not found; "" hides none.
// Errors: run_not_found; run_conflict where several threads have the AG-UI run.
Result<RunPlace> find_place(store::StorageBackend& backend, const std::string& id,
                            const std::string& principal, const std::string& thread,
                            const std::string& hidden = {});

// A page of runs without those of this agent, which take no places in it; "" leaves out none.
// Errors: those of StorageBackend::runs.
Result<store::RunList> runs_without(store::StorageBackend& backend, store::RunQuery query,
                                    const std::string& hidden);

// As store::on_store, for work that may fail.
template <class T, class Work>
void on_store(store::Writer& writer, os::EventLoop& loop, Work work,
              std::function<void(Result<T>)> done) {
  store::on_store<Result<T>>(writer, loop, std::move(work), std::move(done));
}

// The same for work that changes nothing.
template <class T, class Work>
void read_store(store::Writer& writer, os::EventLoop& loop, Work work,
                std::function<void(Result<T>)> done) {
  store::on_store<Result<T>>(writer, loop, std::move(work), std::move(done), &store::Writer::read);
}

}  // namespace millrace::run
