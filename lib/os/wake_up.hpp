// What wakes a thread that waits for descriptors, from any other thread.
#pragma once

#include <cstddef>

#include "os/descriptors.hpp"

namespace millrace::os {

// Thread: ring from any; everything else from the owner.
class WakeUp {
 public:
  // Throws std::system_error when the system has no descriptor left.
  WakeUp();

  // Readable once it has been rung, until it has been read. Never blocks.
  // Lifetime: open until this ends.
  [[nodiscard]] int listener() const { return listener_.get(); }
  // So many bytes are to be asked for at once; fewer may come.
  static constexpr std::size_t read_bytes = 8;
  void ring() const;

 private:
  Descriptor listener_;
  Descriptor ringer_;  // none where the listener itself is rung
  int rung_ = -1;
};

}  // namespace millrace::os
