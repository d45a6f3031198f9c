// Shapes of JSON that grow: a template whose marked places are repeated as often as is asked for.
//
// In a list `{"$repeat": x}` stands for n times x, in an object `"$repeat": {..}` for n times its
// members. In texts # becomes the number of the repetition and @ that of the next one, "$number" is
// the number itself, and "$long:x" is n times x. A place inside a repeated one is repeated twice,
// so that a text grows with n and not with its square.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/json_tree.hpp"

namespace millrace::fuzz {

// The JSON text of the shape of this size.
std::string grown(const json::Tree& shape, std::size_t n);

// Changes the shape in one place; `random` gives the place, the kind and the words of the change.
void mutate(json::Tree& shape, unsigned random);

}  // namespace millrace::fuzz
