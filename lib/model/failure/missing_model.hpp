// Sentences of vendors about a model that they do not have.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace millrace::model {

// Whether a sentence in lower case is that the model which it names does not exist.
inline bool names_missing_model(std::string_view sentence) {
  constexpr std::string_view model = "model ";
  constexpr std::ptrdiff_t most_words = 3;  // of the name, and of what says that it is one
  for (const std::string_view end : {" does not exist", " doesn't exist"}) {
    const std::size_t at = sentence.find(end);
    const std::size_t from = at == sentence.npos ? at : sentence.rfind(model, at);
    if (from == sentence.npos) continue;
    const std::string_view name = sentence.substr(from, at - from);
    const bool is_short = std::count(name.begin(), name.end(), ' ') <= most_words;
    if (is_short && name.find(". ") == name.npos) return true;
  }
  return false;
}

}  // namespace millrace::model
