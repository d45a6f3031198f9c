// How many runs a process accepted and ended, and what their models were asked and have used.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "journal/facts.hpp"

namespace millrace::run {

// Thread: engine thread.
struct RunCounts {
  // A host may name providers of its own: beyond so many they are "other".
  static constexpr std::size_t most_providers = 64;

  std::uint64_t accepted = 0;
  std::array<std::uint64_t, journal::run_states.size()> ended{};  // by the number of the state
  std::map<std::string, std::uint64_t, std::less<>> requests;     // to models, by provider
  // Units: tokens, of runs that ended.
  double input_tokens = 0;
  double output_tokens = 0;

  void add_request(std::string_view provider) {
    if (provider.empty()) provider = "unknown";
    const bool is_new = requests.find(provider) == requests.end();
    if (is_new && requests.size() >= most_providers) provider = "other";
    ++requests[std::string(provider)];
  }
};

}  // namespace millrace::run
