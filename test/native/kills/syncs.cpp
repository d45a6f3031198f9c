// The syncs of a worker's store: they are counted, and end the process round one of them.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "kills/worker.hpp"

namespace millrace::test {
namespace {

std::atomic<int> sync_count = 0;
std::atomic<int> fatal_sync = 0;
std::atomic<bool> fatal_before = false;
std::atomic<std::uint64_t>* all_syncs = nullptr;

// Memory that a kill leaves as it is.
void share_syncs(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ::ftruncate(file, sizeof(*all_syncs)) != 0) std::abort();
  void* const memory =
      ::mmap(nullptr, sizeof(*all_syncs), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) std::abort();
  all_syncs = static_cast<std::atomic<std::uint64_t>*>(memory);
  ::close(file);
}

}  // namespace

void plan_syncs(const KillPlan& plan) {
  share_syncs(sync_file(plan.folder));
  fatal_before = plan.before_sync;
  fatal_sync = plan.sync;
}

void count_sync(bool is_before) {
  const int count = is_before ? ++sync_count : sync_count.load();
  if (is_before && all_syncs != nullptr) ++*all_syncs;
  if (fatal_sync == 0 || count != fatal_sync || is_before != fatal_before) return;
  ::kill(::getpid(), SIGKILL);
}

}  // namespace millrace::test

// The store's syncs go through here.
extern "C" int fdatasync(int file) {
  millrace::test::count_sync(true);
  const auto done = static_cast<int>(::syscall(SYS_fdatasync, file));
  millrace::test::count_sync(false);
  return done;
}
