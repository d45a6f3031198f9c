// One entry of a run's journal: a fact, or an event of the answer as readers see it.
#pragma once

#include <cstdint>
#include <variant>

#include "event/event.hpp"
#include "journal/facts.hpp"

namespace millrace::journal {

// `seq` is dense from 1 in each root run. A record that spans several numbers has the last of them.
struct Record {
  std::uint64_t seq = 0;
  std::uint32_t span = 1;
  std::uint32_t branch = 0;  // 0 is the root run; children count from 1
  std::int64_t at_ms = 0;    // of the wall clock, never falling within a run
  std::variant<Fact, event::Event> body;
};

}  // namespace millrace::journal
