// Random UUIDs (version 4) from the operating system's generator.
#pragma once

#include "base/ids.hpp"

namespace millrace::os {

// Thread: any; each call stands alone.
class RandomIds final : public IdSource {
 public:
  std::string next_id() override;
};

}  // namespace millrace::os
