// Lists as JSON text.
#pragma once

#include <span>
#include <string>

#include "base/json.hpp"

namespace millrace::json {

// An array of these texts.
inline std::string string_list(std::span<const std::string> texts) {
  std::string out = "[";
  for (const std::string& text : texts) {
    if (out.size() > 1) out.push_back(',');
    append_string(out, text);
  }
  out.push_back(']');
  return out;
}

}  // namespace millrace::json
