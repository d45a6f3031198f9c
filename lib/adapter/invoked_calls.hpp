// Calls that a model writes as elements: `<invoke name="..">` with a `<parameter name="..">` for
// each argument.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::adapter {

enum class CallForm : std::uint8_t {
  invoke,
  function,  // the element is `<function name="..">`, and a value without a mark JSON where it can
             // be
};

inline constexpr std::string_view invoked_call_end = "</invoke>";

struct InvokedCall {
  std::string name;
  std::string arguments_json;  // an object
};

// The calls of a text that holds nothing else; none when it holds anything else. Values are texts,
// as the models write them without quotes, without the white space around them; one marked
// `string="true"` keeps it, one marked `string="false"` is JSON where it can be.
std::vector<InvokedCall> read_invoked_calls(std::string_view text,
                                            CallForm form = CallForm::invoke);

}  // namespace millrace::adapter
