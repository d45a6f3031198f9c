// Reading arguments and making results. TypeScript has checked what users pass; these re-check the
// types, since a wrong one must never be undefined behaviour.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "node_api.hpp"

namespace millrace::native {

// The string argument at `index`.
// Errors: invalid_argument.
Result<std::string> text_at(const Napi::CallbackInfo& info, std::size_t index);

// The bytes of the Uint8Array (or Buffer) at `index`.
// Lifetime: during the call, and only until JavaScript runs again.
// Errors: invalid_argument.
Result<std::string_view> bytes_at(const Napi::CallbackInfo& info, std::size_t index);

// The text or the bytes at `index`; "" and false when there is neither.
struct Body {
  std::string bytes;
  bool given = false;
};
Body body_at(const Napi::CallbackInfo& info, std::size_t index);

// A JavaScript string of UTF-8.
Napi::Value to_text(napi_env env, std::string_view utf8);
// A Buffer with a copy of the bytes.
Napi::Value to_bytes(napi_env env, std::string_view bytes);

}  // namespace millrace::native
