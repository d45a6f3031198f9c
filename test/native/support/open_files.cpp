// Tests hold many connections at once. Where the programs are started by hand, in a shell with the
// small soft limit that some systems have, the limit is raised to the hard one; where that is too
// low, too, the tests would wait for connections that cannot be opened, and do not begin.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>

namespace millrace {
namespace {

constexpr rlim_t needed_files = 512;

class OpenFiles final : public ::testing::Environment {
 public:
  void SetUp() override {
    rlimit limit{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    if (limit.rlim_cur < needed_files) {
      limit.rlim_cur = std::min(limit.rlim_max, needed_files);
      setrlimit(RLIMIT_NOFILE, &limit);
    }
    ASSERT_GE(limit.rlim_cur, needed_files)
        << "The tests need " << needed_files << " open files at once (ulimit -n).";
  }
};

[[maybe_unused]] const ::testing::Environment* const open_files =
    ::testing::AddGlobalTestEnvironment(new OpenFiles);

}  // namespace
}  // namespace millrace
