#include "os/process.hpp"

#include <dirent.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <cstdio>
#include <fstream>
#include <functional>
#include <future>
#include <mutex>
#include <sstream>
#include <thread>

#include "os/event_loop.hpp"
#include "support/sanitizers.hpp"

using namespace millrace;
using namespace std::chrono_literals;

namespace {

constexpr std::chrono::seconds grace_period{20};

class Watcher final : public os::ProcessHandler {
 public:
  void on_output(std::string_view bytes) override {
    const std::lock_guard lock(mutex_);
    output_.append(bytes);
    changed_.notify_all();
  }
  void on_exit(os::ProcessExit exit) override {
    const std::lock_guard lock(mutex_);
    exit_ = std::move(exit);
    changed_.notify_all();
  }
  bool wait_output(std::size_t size) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, grace_period, [&] { return output_.size() >= size; });
  }
  os::ProcessExit wait_exit() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, grace_period, [&] { return exit_.has_value(); }));
    return exit_.value_or(os::ProcessExit{});
  }
  std::string output() {
    const std::lock_guard lock(mutex_);
    return output_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string output_;
  std::optional<os::ProcessExit> exit_;
};

std::vector<pid_t> pids_in(const std::string& text) {
  std::istringstream words(text);
  std::vector<pid_t> pids;
  for (pid_t pid = 0; words >> pid;) pids.push_back(pid);
  return pids;
}

class Rig {
 public:
  Rig() { loop.start(); }
  ~Rig() {
    on_loop([&] { process.reset(); });
    loop.stop();
  }
  void on_loop(const std::function<void()>& work) {
    std::promise<void> done;
    loop.post([&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }
  static os::ProcessOptions shell(const std::string& script) {
    os::ProcessOptions options;
    options.program = "sh";
    options.arguments = {"-c", script};
    options.environment = {{"PATH", "/usr/bin:/bin"}};
    options.grace = 200ms;
    return options;
  }
  Result<void> start(const os::ProcessOptions& options) {
    Result<void> result;
    watcher = std::make_shared<Watcher>();
    on_loop([&] {
      auto started = os::Process::start(loop, options, watcher);
      if (started) {
        process = std::move(started).value();
      } else {
        result = started.error();
      }
    });
    return result;
  }
  // What the program prints: so many pids, if it does in time.
  std::vector<pid_t> wait_pids(std::size_t count) {
    const auto end = std::chrono::steady_clock::now() + grace_period;
    std::vector<pid_t> pids;
    while (pids.size() < count && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(10ms);
      pids = pids_in(watcher->output());
    }
    EXPECT_EQ(pids.size(), count);
    return pids;
  }
  bool wait_error_text(const std::string& word) {
    const auto end = std::chrono::steady_clock::now() + grace_period;
    bool is_there = false;
    while (!is_there && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(10ms);
      on_loop([&] { is_there = process->error_text().find(word) != std::string::npos; });
    }
    return is_there;
  }
  void write(const std::string& text) {
    on_loop([&] { EXPECT_TRUE(process->write(text).ok()); });
  }

  os::EventLoop loop;
  std::shared_ptr<Watcher> watcher;
  std::unique_ptr<os::Process> process;
};

bool is_alive(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(stat, text);
  const std::size_t end = text.rfind(')');
  return end != text.npos && text.size() > end + 2 && text[end + 2] != 'Z';
}

bool is_gone_within(pid_t pid, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (is_alive(pid)) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(10ms);
  }
  return true;
}

pid_t parent_of(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(stat, text);
  std::istringstream rest(text.substr(std::min(text.rfind(')'), text.size() - 1) + 1));
  std::string state;
  pid_t parent = 0;
  rest >> state >> parent;
  return parent;
}

std::size_t open_descriptors() {
  DIR* folder = opendir("/proc/self/fd");
  std::size_t count = 0;
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

}  // namespace

TEST(Process, TalksOverItsPipes) {
  Rig rig;
  ASSERT_TRUE(rig.start(Rig::shell("cat; echo done; exit 7")).ok());
  rig.write("one\n");
  rig.write("two\n");
  ASSERT_TRUE(rig.watcher->wait_output(8));
  rig.on_loop([&] { rig.process->close_input(); });
  const os::ProcessExit exit = rig.watcher->wait_exit();
  EXPECT_EQ(rig.watcher->output(), "one\ntwo\ndone\n");
  EXPECT_EQ(exit.code.value_or(-1), 7);
  EXPECT_FALSE(exit.not_started);
}

TEST(Process, KeepsTheEndOfItsErrors) {
  Rig rig;
  os::ProcessOptions options =
      Rig::shell("i=0; while [ $i -lt 3000 ]; do echo line $i >&2; i=$((i+1)); done; kill -9 $$");
  options.stderr_tail_bytes = 100;
  ASSERT_TRUE(rig.start(options).ok());
  const os::ProcessExit exit = rig.watcher->wait_exit();
  EXPECT_EQ(exit.signal.value_or(0), SIGKILL);
  EXPECT_EQ(exit.error_text.size(), 100U);
  EXPECT_TRUE(exit.error_text.ends_with("line 2998\nline 2999\n")) << exit.error_text;
}

// A loop that is late finds everything at once, the end among it.
TEST(Process, LosesNothingThatIsReadAfterTheEnd) {
  Rig rig;
  os::ProcessOptions options = Rig::shell(
      "echo ready; read line; head -c 40000 /dev/zero | tr '\\0' o; echo out;"
      " head -c 40000 /dev/zero | tr '\\0' e >&2; echo err >&2; kill -9 $$");
  options.stderr_tail_bytes = 100'000;
  ASSERT_TRUE(rig.start(options).ok());
  ASSERT_TRUE(rig.watcher->wait_output(6));
  const auto end = std::chrono::steady_clock::now() + grace_period;
  for (pid_t pid = 0; pid <= 0 && std::chrono::steady_clock::now() < end;) {
    rig.on_loop([&] { pid = rig.process->pid(); });
  }
  rig.on_loop([&] {
    const pid_t watching = parent_of(rig.process->pid());
    ASSERT_GT(watching, 1);
    ASSERT_TRUE(rig.process->write("go\n").ok());
    EXPECT_TRUE(is_gone_within(watching, grace_period));
  });
  const os::ProcessExit exit = rig.watcher->wait_exit();
  EXPECT_EQ(exit.signal.value_or(0), SIGKILL);
  const std::string output = rig.watcher->output();
  EXPECT_TRUE(output == "ready\n" + std::string(40'000, 'o') + "out\n") << output.size();
  EXPECT_TRUE(exit.error_text == std::string(40'000, 'e') + "err\n") << exit.error_text.size();
}

TEST(Process, SaysWhyItDidNotStart) {
  Rig rig;
  os::ProcessOptions options = Rig::shell("");
  options.program = "no-such-program";
  const auto rejected = rig.start(options);
  ASSERT_FALSE(rejected.ok());
  EXPECT_EQ(rejected.error().code, Errc::process_start_failed);
  EXPECT_NE(rejected.error().message.find("no-such-program"), std::string::npos);

  options.program = "/etc/hostname-that-is-not-there";
  ASSERT_TRUE(rig.start(options).ok());
  EXPECT_TRUE(rig.watcher->wait_exit().not_started);

  options = Rig::shell("echo never");
  options.directory = "/no/such/folder";
  ASSERT_TRUE(rig.start(options).ok());
  const auto exit = rig.watcher->wait_exit();
  ASSERT_TRUE(exit.not_started);
  EXPECT_NE(exit.not_started->message.find("/no/such/folder"), std::string::npos);
}

TEST(Process, GetsOnlyTheEnvironmentAndFolderItIsGiven) {
  Rig rig;
  setenv("MILLRACE_TEST_SECRET", "1", 1);
  os::ProcessOptions options = Rig::shell("env | sort; pwd; ls /proc/self/fd | wc -l");
  options.environment.emplace_back("GIVEN", "a b");
  options.directory = "/tmp";
  ASSERT_TRUE(rig.start(options).ok());
  rig.watcher->wait_exit();
  unsetenv("MILLRACE_TEST_SECRET");
  const std::string output = rig.watcher->output();
  EXPECT_NE(output.find("GIVEN=a b\n"), std::string::npos);
  EXPECT_EQ(output.find("SECRET"), std::string::npos);
  EXPECT_NE(output.find("/tmp\n"), std::string::npos);
  // Standard input, output, errors, and the folder that ls reads.
  EXPECT_TRUE(output.ends_with("\n4\n")) << output;
}

TEST(Process, EndsTheWholeGroup) {
  Rig rig;
  ASSERT_TRUE(rig.start(Rig::shell("trap '' TERM; sh -c 'trap \"\" TERM; echo $$; sleep 1000' & "
                                   "echo $$; wait"))
                  .ok());
  const std::vector<pid_t> pids = rig.wait_pids(2);
  rig.on_loop([&] { rig.process->stop(); });
  const os::ProcessExit exit = rig.watcher->wait_exit();
  EXPECT_EQ(exit.signal.value_or(0), SIGKILL);
  for (const pid_t pid : pids) EXPECT_TRUE(is_gone_within(pid, 2s)) << pid;
}

TEST(Process, EndsWhatLeftTheGroup) {
  if (MILLRACE_PORTABLE) GTEST_SKIP() << "only Linux tells a watcher of what left the group";
  Rig rig;
  ASSERT_TRUE(
      rig.start(Rig::shell("setsid sh -c 'echo $$; exec sleep 1000' & echo $$; wait")).ok());
  const std::vector<pid_t> pids = rig.wait_pids(2);
  rig.on_loop([&] { rig.process->stop(); });
  rig.watcher->wait_exit();
  for (const pid_t pid : pids) EXPECT_TRUE(is_gone_within(pid, 2s)) << pid;
}

TEST(Process, EndsWhatAProgramLeavesBehind) {
  Rig rig;
  ASSERT_TRUE(rig.start(Rig::shell("sleep 1000 & echo $!; exit 3")).ok());
  EXPECT_EQ(rig.watcher->wait_exit().code.value_or(-1), 3);
  for (const pid_t pid : pids_in(rig.watcher->output())) EXPECT_TRUE(is_gone_within(pid, 2s));
}

TEST(Process, IsPausedByItsReader) {
  Rig rig;
  // It begins when it is told to, so that the pause comes first however busy the machine is.
  ASSERT_TRUE(rig.start(Rig::shell("read word; echo begun >&2; yes | head -c 3000000; echo; "
                                   "echo end >&2; cat"))
                  .ok());
  rig.on_loop([&] { rig.process->pause(); });
  rig.write("go\n");
  EXPECT_TRUE(rig.wait_error_text("begun"));
  std::this_thread::sleep_for(100ms);
  // A read that was under way when it was paused may still bring something.
  EXPECT_LE(rig.watcher->output().size(), 1U << 16U);
  rig.on_loop([&] {
    EXPECT_EQ(rig.process->error_text().find("end"), std::string::npos);
    rig.process->resume();
    rig.process->close_input();
  });
  EXPECT_EQ(rig.watcher->wait_exit().code.value_or(-1), 0);
  EXPECT_EQ(rig.watcher->output().size(), 3'000'001U);
}

TEST(Process, BoundsWhatItDoesNotRead) {
  Rig rig;
  os::ProcessOptions options = Rig::shell("sleep 1000");
  options.most_unwritten_bytes = 1U << 20U;
  ASSERT_TRUE(rig.start(options).ok());
  rig.on_loop([&] {
    Result<void> written;
    for (int i = 0; i < 20 && written; ++i) written = rig.process->write(std::string(100'000, 'x'));
    ASSERT_FALSE(written.ok());
    EXPECT_EQ(written.error().code, Errc::event_too_large);
  });
}

TEST(Process, LeavesNoDescriptorAndNoZombie) {
  Rig rig;
  ASSERT_TRUE(rig.start(Rig::shell("true")).ok());
  rig.watcher->wait_exit();
  rig.on_loop([&] { rig.process.reset(); });
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 30; ++i) {
    ASSERT_TRUE(rig.start(Rig::shell(i % 2 == 0 ? "true" : "sleep 1000")).ok());
    rig.on_loop([&] { rig.process->stop(); });
    rig.watcher->wait_exit();
  }
  rig.on_loop([&] { rig.process.reset(); });
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

// A host that is killed cannot clean up; its watcher does.
TEST(Process, EndsWithAHostThatIsKilled) {
  if (test::has_thread_sanitizer) {
    GTEST_SKIP() << "the host is a fork with threads, which ThreadSanitizer does not follow";
  }
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const pid_t host = fork();
  ASSERT_GE(host, 0);
  if (host == 0) {
    Rig rig;
    // Like npx: a shell that starts a shell that starts the server.
    if (!rig.start(Rig::shell("sh -c 'sleep 1000 & echo $! $$; wait' & wait"))) _exit(1);
    rig.watcher->wait_output(3);
    const std::string text = rig.watcher->output() + "\n";
    static_cast<void>(!::write(ends[1], text.data(), text.size()));
    for (;;) pause();
  }
  std::string text;
  char byte = 0;
  while (read(ends[0], &byte, 1) == 1 && byte != '\n') text.push_back(byte);
  const std::vector<pid_t> pids = pids_in(text);
  EXPECT_EQ(pids.size(), 2U);
  for (const pid_t pid : pids) EXPECT_TRUE(is_alive(pid));
  kill(host, SIGKILL);
  waitpid(host, nullptr, 0);
  for (const pid_t pid : pids) EXPECT_TRUE(is_gone_within(pid, 2s)) << pid;
  close(ends[0]);
  close(ends[1]);
}
