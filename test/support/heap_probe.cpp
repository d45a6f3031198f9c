// What the stress test asks about the process's heap: JavaScript sees only resident memory, which
// also holds pages that the allocator keeps for later.
//
// Not part of the package. heapInUse() -> bytes; trimHeap() gives free pages back.
#include <node_api.h>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace {

napi_value heap_in_use(napi_env env, napi_callback_info) {
  napi_value value = nullptr;
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
  const struct mallinfo2 heap = mallinfo2();
  napi_create_double(env, static_cast<double>(heap.uordblks + heap.hblkhd), &value);
#else
  napi_get_undefined(env, &value);
#endif
  return value;
}

napi_value trim_heap(napi_env, napi_callback_info) {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
  return nullptr;
}

void set(napi_env env, napi_value exports, const char* name, napi_callback call) {
  napi_value function = nullptr;
  napi_create_function(env, name, NAPI_AUTO_LENGTH, call, nullptr, &function);
  napi_set_named_property(env, exports, name, function);
}

}  // namespace

NAPI_MODULE_INIT() {
  set(env, exports, "heapInUse", heap_in_use);
  set(env, exports, "trimHeap", trim_heap);
  return exports;
}
