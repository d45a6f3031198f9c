#include "arguments.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace millrace::native {
namespace {

Error wrong_type(std::size_t index, const char* wanted) {
  return make_error(Errc::invalid_argument,
                    "Argument " + std::to_string(index + 1) + " must be " + wanted + ".");
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x80U; });
}

}  // namespace

Result<std::string> text_at(const Napi::CallbackInfo& info, std::size_t index) {
  const Napi::Value value = info[index];
  if (!value.IsString()) return wrong_type(index, "a string");
  return value.As<Napi::String>().Utf8Value();
}

Result<std::string_view> bytes_at(const Napi::CallbackInfo& info, std::size_t index) {
  const Napi::Value value = info[index];
  napi_typedarray_type type{};
  std::size_t size = 0;
  void* data = nullptr;
  bool is_array = false;
  napi_is_typedarray(info.Env(), value, &is_array);
  if (!is_array ||
      napi_get_typedarray_info(info.Env(), value, &type, &size, &data, nullptr, nullptr) !=
          napi_ok ||
      type != napi_uint8_array) {
    return wrong_type(index, "a Uint8Array");
  }
  return std::string_view(static_cast<const char*>(data), data == nullptr ? 0 : size);
}

Body body_at(const Napi::CallbackInfo& info, std::size_t index) {
  if (info[index].IsString()) return {info[index].As<Napi::String>().Utf8Value(), true};
  const auto bytes = bytes_at(info, index);
  if (bytes) return {std::string(bytes.value()), true};
  return {};
}

Napi::Value to_text(napi_env env, std::string_view utf8) {
  napi_value value = nullptr;
  if (is_ascii(utf8)) {
    napi_create_string_latin1(env, utf8.data(), utf8.size(), &value);
  } else {
    napi_create_string_utf8(env, utf8.data(), utf8.size(), &value);
  }
  return {env, value};
}

Napi::Value to_bytes(napi_env env, std::string_view bytes) {
  napi_value value = nullptr;
  napi_create_buffer_copy(env, bytes.size(), bytes.data(), nullptr, &value);
  return {env, value};
}

}  // namespace millrace::native
