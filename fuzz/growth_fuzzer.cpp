// No text that the engine reads costs more than its size (growth_measure.hpp), whatever shape of it
// grows (growth_shapes.hpp): otherwise one body would stop everybody else's.
//
// The input is JSON: {"entry", "of", "body"}, see growth_entries.hpp.
#include <algorithm>
#include <cstdio>
#include <string>

#include "fuzz_support.hpp"
#include "growth_measure.hpp"
#include "growth_shapes.hpp"

using namespace millrace;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto shape = json::Tree::parse({reinterpret_cast<const char*>(data), size});
  if (!shape || !shape.value()["entry"].is_string()) return 0;
  const std::string excess = fuzz::excess_of(shape.value());
  if (!excess.empty()) std::fprintf(stderr, "%s\n", shape.value().to_json().c_str());
  fuzz::require(excess.empty(), excess.c_str());
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  auto shape = json::Tree::parse({reinterpret_cast<const char*>(data), size});
  if (!shape || !shape.value().is_object()) return size;
  fuzz::mutate(shape.value().at("body"), seed);
  const std::string changed = shape.value().to_json();
  if (changed.size() > most) return size;
  std::copy(changed.begin(), changed.end(), data);
  return changed.size();
}
