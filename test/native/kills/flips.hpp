// A store in whose file one bit is another one.
#pragma once

#include <cstdint>
#include <string>

namespace millrace::test {

// Changes one bit of the store of a folder after the other. Each must be found, or leave every row
// as it was; but for what no other place of the store repeats. Gives what is wrong, "" for nothing.
std::string flip_bits(const std::string& folder, int flips, std::uint64_t seed);

}  // namespace millrace::test
