// A run with everything, and its records as they are stored.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "durable_rig.hpp"

namespace millrace::test {

inline std::vector<store::StoredPage> pages_of(DurableRig& rig, const store::RunId& run) {
  std::vector<store::StoredPage> pages;
  rig.on_store([&](store::StorageBackend& backend) {
    pages = backend.read(run, 0, std::size_t{1} << 24U).value();
  });
  return pages;
}

// Makes the records of runs that ended take less room. Gives how many runs it did so for.
inline std::size_t compact_runs(DurableRig& rig) {
  std::size_t compacted = 0;
  rig.on_store([&](store::StorageBackend& backend) {
    store::SweepPolicy policy;
    policy.compact_ms = 0;
    compacted = backend.sweep(policy).value().compacted;
  });
  return compacted;
}

// A run with everything: a crash in an answer, calls, an approval and its answer.
struct Eventful {
  DurableRig rig;
  store::RunId run;
  std::uint64_t second = 0;  // the last record before the second AG-UI run

  Eventful() {
    rig.provider.answers = {
        ModelAnswer{chat_record(R"({"role":"assistant","content":"Hel"})", "null"), 200, true},
        calls({{"a", "look"}, {"b", "put"}}), calls({{"c", "send"}}), text_answer("All done.")};
    rig.tools["look"]->outcomes = {{"seen"}};
    rig.tools["put"]->outcomes = {{"put"}};
    rig.tools["send"]->outcomes = {{"sent"}};
    run = rig.open_run("r1", "Go.", "1").value().run;
    const auto reader = rig.attach(run, 0);
    for (bool shown = false; !shown;) rig.on_loop([&] { shown = reader->text == "Hel"; });
    rig.crash();
    const auto waiting = rig.read(run, 0);
    const auto answered =
        rig.open_run("r2", "", "2",
                     R"([{"interruptId":")" + waiting->interrupts.at(0) +
                         R"(","status":"resolved","payload":{"approved":true}}])");
    second = answered.value().before;
    while (rig.state_of(run) != journal::RunState::completed) {
    }
  }
};

}  // namespace millrace::test
