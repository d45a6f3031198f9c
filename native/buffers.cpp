#include "buffers.hpp"

#include <memory>
#include <utility>

#include "arguments.hpp"
#include "js_callback.hpp"

namespace millrace::native {

Buffers::Buffers(napi_env env, napi_value renew) : env_(env) {
  if (renew != nullptr) napi_create_reference(env, renew, 1, &renew_);
}

Napi::Value Buffers::make(std::string bytes) const {
  if (renew_ == nullptr || bytes.size() < least_given) return to_bytes(env_, bytes);
  auto owned = std::make_unique<std::string>(std::move(bytes));
  napi_value buffer = nullptr;
  const auto free_bytes = [](napi_env, void*, void* hint) {
    delete static_cast<std::string*>(hint);
  };
  if (napi_create_external_buffer(env_, owned->size(), owned->data(), free_bytes, owned.get(),
                                  &buffer) != napi_ok) {
    return to_bytes(env_, *owned);
  }
  static_cast<void>(owned.release());
  napi_value renew = nullptr;
  napi_get_reference_value(env_, renew_, &renew);
  const napi_value renewed = call_or_report(env_, renew, 1, &buffer);
  return {env_, renewed == nullptr ? buffer : renewed};
}

}  // namespace millrace::native
