#include "os/system_name.hpp"

#include <sys/utsname.h>

namespace millrace::os {

std::string system_name() {
  utsname names{};
  return uname(&names) < 0 ? std::string() : std::string(names.sysname);
}

}  // namespace millrace::os
