// What of a call's options its request has no place for. Private to this folder.
#pragma once

#include <string>
#include <vector>

#include "model/capability/rows.hpp"

namespace millrace::model {

// A sentence for each. What a row takes are names of options (of an image: of its `params`), and of
// an image besides
//   sides    `width` and `height`, only together
//   pixels   `size`, only as "1024x768"
//   picture  the first of the images to start from; where it is not taken, there are none or all go
//   *        whatever has no word here
std::vector<std::string> left_out(const CapabilityRow& row, const json::Value& options);

}  // namespace millrace::model
