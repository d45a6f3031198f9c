// How deep JSON may nest that carries data of users, tools and providers inside: records, states,
// messages. It is read by recursion, which the limit keeps on small stacks.
#pragma once

#include <cstddef>

namespace millrace::json {

// Units: levels of arrays and objects.
inline constexpr std::size_t data_depth_limit = 512;

}  // namespace millrace::json
