// Notes about what a request leaves out of its history.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "model/payload/request.hpp"

namespace millrace::model {

// Notes how many of something are left out, and why: "<what> left out: 2. <why>". Nothing of none.
void note_count(std::vector<Note>& notes, std::string_view what, std::size_t count,
                std::string_view why, bool is_loss = false);

}  // namespace millrace::model
