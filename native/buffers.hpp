// Buffers of the bytes that streams produce.
#pragma once

#include <string>

#include "node_api.hpp"

namespace millrace::native {

// Copies short bytes and gives the memory of long ones away: to copy them takes the JavaScript
// thread longer than all that it does with them. A host that forbids such memory, as Electron does,
// gets copies.
// Thread: the JavaScript thread.
class Buffers {
 public:
  // `renew` makes a Buffer that can be transferred of one over memory of the engine. Without it
  // everything is copied: the memory ends with its environment, and a thread that outlives it may
  // have the bytes by then.
  Buffers(napi_env env, napi_value renew);

  Napi::Value make(std::string bytes) const;

 private:
  static constexpr std::size_t least_given = std::size_t{64} << 10U;

  napi_env env_;
  napi_ref renew_ = nullptr;
};

}  // namespace millrace::native
