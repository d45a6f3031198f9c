// Settings that a dialect has no place for: each is told of, so that nothing is dropped in silence.
#pragma once

#include "model/provider/dialects.hpp"

namespace millrace::model {

// Notes what the payload sets and `dialect` cannot send. What a dialect sends in part, or takes
// from some providers only, its body notes itself.
void note_left_out(const Draft& draft, Dialect dialect);

}  // namespace millrace::model
