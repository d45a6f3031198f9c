// Engine objects that JavaScript holds: a constructor, a type tag that refuses a borrowed method on
// a foreign object, and methods that run behind the guard.
#pragma once

#include <initializer_list>
#include <memory>
#include <vector>

#include "guard.hpp"

namespace millrace::native {

// What a class needs to be exported. `tag` is made up once and never used twice.
template <class T>
struct ObjectTraits;
//   static constexpr const char* name;
//   static constexpr napi_type_tag tag;
//   static Result<std::unique_ptr<T>> make(const Napi::CallbackInfo& info);

namespace detail {

template <class T>
napi_value construct(napi_env env, napi_callback_info info) noexcept {
  return call_guarded(env, info, [env](const Napi::CallbackInfo& arguments) -> napi_value {
    if (!arguments.IsConstructCall()) {
      return raise(env, make_error(Errc::invalid_argument, "Use new to construct this object."));
    }
    auto made = ObjectTraits<T>::make(arguments);
    if (!made) return raise(env, made.error());
    const Napi::Value self = arguments.This();
    const auto free_object = [](napi_env, void* data, void*) { delete static_cast<T*>(data); };
    napi_type_tag_object(env, self, &ObjectTraits<T>::tag);
    if (napi_wrap(env, self, made.value().get(), free_object, nullptr, nullptr) == napi_ok) {
      static_cast<void>(std::move(made).value().release());
    }
    return self;
  });
}

}  // namespace detail

template <class T, Napi::Value (*fn)(T&, const Napi::CallbackInfo&)>
napi_value method(napi_env env, napi_callback_info info) noexcept {
  return detail::call_guarded(env, info, [env](const Napi::CallbackInfo& arguments) -> napi_value {
    const Napi::Value self = arguments.This();
    bool tagged = false;
    void* data = nullptr;
    if (self.IsObject()) napi_check_object_type_tag(env, self, &ObjectTraits<T>::tag, &tagged);
    if (!tagged || napi_unwrap(env, self, &data) != napi_ok || data == nullptr) {
      return raise(env, make_error(Errc::invalid_argument, "The receiver has the wrong type."));
    }
    return fn(*static_cast<T*>(data), arguments);
  });
}

struct MethodRow {
  const char* name;
  napi_callback call;
};

template <class T>
void set_class(Napi::Env env, Napi::Object exports, std::initializer_list<MethodRow> methods) {
  std::vector<napi_property_descriptor> properties;
  for (const MethodRow& row : methods) {
    properties.push_back(
        {row.name, nullptr, row.call, nullptr, nullptr, nullptr, napi_default_method, nullptr});
  }
  napi_value type = nullptr;
  if (napi_define_class(env, ObjectTraits<T>::name, NAPI_AUTO_LENGTH, detail::construct<T>, nullptr,
                        properties.size(), properties.data(), &type) == napi_ok) {
    exports.Set(ObjectTraits<T>::name, Napi::Value(env, type));
  }
}

}  // namespace millrace::native
