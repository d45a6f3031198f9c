// Names that are a known one but for their spelling. js/known-names.ts judges by the same rule.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

// From how many letters on another letter is a slip: where other names are allowed as well, a short
// one is likely to be one of them.
inline constexpr std::size_t slip_letters = 4;
inline constexpr std::size_t slip_letters_among_others = 6;

// The known name that an unknown one is like: the same but for case, `-` and `_`, or, from so many
// letters on, one letter more, less or other, or two in the other order.
std::optional<std::string_view> meant_by(std::string_view name,
                                         const std::vector<std::string_view>& known,
                                         std::size_t letters = slip_letters);

// What to say of an unknown name: "Did you mean 'a'?", or else "Use one of a, b."
std::string advice(std::string_view name, const std::vector<std::string_view>& known);

}  // namespace millrace
