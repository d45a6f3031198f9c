// The file tools on their pool: what a disk does holds up nobody else.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "os/blocking_pool.hpp"
#include "os/event_loop.hpp"
#include "os/protected_files.hpp"
#include "tool/builtin/builtin.hpp"

namespace millrace::tool {
namespace {

constexpr std::chrono::seconds grace_period{20};

class Caller final : public ToolHost {
 public:
  void finished(ToolOutcome outcome) override { promise_.set_value(std::move(outcome)); }
  void progress(std::string_view) override {}
  std::future<ToolOutcome> outcome() { return promise_.get_future(); }

 private:
  std::promise<ToolOutcome> promise_;
};

// Work that waits until it is let go.
struct Gate {
  std::promise<void> opened;
  std::shared_future<void> open = opened.get_future().share();
  std::atomic<int> waiting{0};
};

class FileTools : public testing::Test {
 protected:
  static constexpr std::size_t threads = 2;
  static constexpr std::size_t places = 4;

  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "millrace-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    loop_.start();
    on_loop([&] {
      client_.emplace(loop_, net::ClientOptions{});
      pool_.emplace(loop_, threads, places);
    });
    json::Tree options = json::Tree::object();
    options.set("calculator", json::Tree::flag(true));
    options.at("files").set("root", root_.string());
    options.at("files").set("write", json::Tree::flag(true));
    options.at("runProcess").set("directory", root_.string());
    auto made = make_builtin_tools(options, {loop_, *client_, *pool_});
    ASSERT_TRUE(made.ok());
    tools_ = std::move(made).value();
  }

  void TearDown() override {
    on_loop([&] {
      running_.clear();
      pool_.reset();
      client_.reset();
    });
    gate_->opened.set_value();
    loop_.stop();
    std::filesystem::remove_all(root_);
  }

  void on_loop(const std::function<void()>& work) {
    std::promise<void> done;
    loop_.post([&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }

  std::future<ToolOutcome> call(const std::string& name, const std::string& arguments) {
    const auto caller = std::make_shared<Caller>();
    auto outcome = caller->outcome();
    on_loop([&] {
      running_.push_back(tools_.find(name)->start({"c", name, arguments, "k"}, caller));
    });
    return outcome;
  }

  ToolOutcome wait(std::future<ToolOutcome> outcome) {
    if (outcome.wait_for(grace_period) == std::future_status::ready) return outcome.get();
    ADD_FAILURE() << "the call did not end";
    return {};
  }

  // Every thread of the pool hangs, as in a file system that does not answer.
  void hang() {
    on_loop([&] {
      for (std::size_t i = 0; i < threads; ++i) {
        ASSERT_TRUE(pool_->run([gate = gate_]() -> os::BlockingPool::Done {
          ++gate->waiting;
          gate->open.wait();
          return [] {};
        }));
      }
    });
    while (gate_->waiting < static_cast<int>(threads)) std::this_thread::yield();
  }

  std::filesystem::path root_;
  os::EventLoop loop_;
  std::optional<net::Client> client_;
  std::optional<os::BlockingPool> pool_;
  Registry tools_;
  std::vector<std::unique_ptr<RunningTool>> running_;
  std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
};

TEST_F(FileTools, ReadWriteAndList) {
  EXPECT_FALSE(wait(call("write_file", R"({"path":"a/b.txt","content":"text"})")).is_error);
  EXPECT_EQ(wait(call("read_file", R"({"path":"a/b.txt"})")).content, "text");
  EXPECT_EQ(wait(call("list_files", R"({"path":"a"})")).content, "b.txt (4 bytes)\n");
}

TEST_F(FileTools, TakeAbsolutePathsBelowTheirRoot) {
  std::ofstream(root_ / "a.txt") << "text";
  const auto path = [](const std::string& text) { return R"({"path":")" + text + "\"}"; };
  EXPECT_EQ(wait(call("read_file", path((root_ / "a.txt").string()))).content, "text");
  EXPECT_EQ(wait(call("read_file", path("/a.txt"))).content, "text");
  EXPECT_EQ(wait(call("list_files", path(root_.string()))).content, "a.txt (4 bytes)\n");
  // Neighbours, and what lies above, are not below.
  for (const std::string& other :
       {root_.string() + "x/a.txt", root_.string() + "/../a.txt", std::string("/etc/passwd")}) {
    EXPECT_TRUE(wait(call("read_file", path(other))).is_error) << other;
  }
}

TEST_F(FileTools, LeaveTheFilesOfAStoreAlone) {
  std::ofstream(root_ / "store.db") << "a store";
  std::ofstream(root_ / "notes.txt") << "notes";
  os::protect_file((root_ / "store.db").string());
  os::protect_file((root_ / "store.db.control").string());
  const auto code_of = [&](const std::string& name, const std::string& arguments) {
    return wait(call(name, arguments)).code;
  };
  EXPECT_EQ(code_of("read_file", R"({"path":"store.db"})"), "not_authorized");
  EXPECT_EQ(code_of("write_file", R"({"path":"store.db","content":"x"})"), "not_authorized");
  EXPECT_EQ(code_of("write_file", R"({"path":"store.db","content":"x","append":true})"),
            "not_authorized");
  // One that is not there yet is not to be made either.
  EXPECT_EQ(code_of("write_file", R"({"path":"store.db.control","content":"x"})"),
            "not_authorized");
  EXPECT_FALSE(std::filesystem::exists(root_ / "store.db.control"));
  // Another name leads to the same file.
  std::filesystem::create_hard_link(root_ / "store.db", root_ / "other.txt");
  EXPECT_EQ(code_of("read_file", R"({"path":"other.txt"})"), "not_authorized");
  EXPECT_EQ(code_of("run_process", R"({"argv":["cat","other.txt"]})"), "not_authorized");
  EXPECT_EQ(code_of("run_process", R"({"argv":["dd","if=store.db"]})"), "not_authorized");
  EXPECT_EQ(code_of("run_process", R"({"argv":["cat","notes.txt"]})"), "");
  EXPECT_EQ(wait(call("read_file", R"({"path":"notes.txt"})")).content, "notes");
}

TEST_F(FileTools, RefusePipesAndDevicesWithoutWaiting) {
  ASSERT_EQ(mkfifo((root_ / "pipe").c_str(), 0600), 0);
  for (const auto& [name, arguments] :
       {std::pair{"read_file", R"({"path":"pipe"})"},
        std::pair{"write_file", R"({"path":"pipe","content":"x","append":true})"},
        std::pair{"write_file", R"({"path":"pipe","content":"x"})"}}) {
    EXPECT_TRUE(wait(call(name, arguments)).is_error) << name << arguments;
  }
  EXPECT_FALSE(wait(call("list_files", "{}")).is_error);
}

TEST_F(FileTools, ReadOneWindowOfAHugeFile) {
  constexpr std::uintmax_t size = std::uintmax_t{1} << 40U;  // has holes, takes no room
  std::ofstream(root_ / "huge").put('x');
  std::error_code rejected;
  std::filesystem::resize_file(root_ / "huge", size, rejected);
  if (rejected) GTEST_SKIP() << "the file system has no files of this size";
  EXPECT_TRUE(wait(call("read_file", R"({"path":"huge"})")).is_error);  // zeros are no text
}

TEST_F(FileTools, ADiskThatHangsHoldsUpNoOtherTool) {
  std::ofstream(root_ / "a.txt") << "text";
  hang();
  auto read = call("read_file", R"({"path":"a.txt"})");
  EXPECT_EQ(wait(call("calculator", R"({"expression":"1+1"})")).content, "2");
  EXPECT_EQ(read.wait_for(std::chrono::milliseconds(0)), std::future_status::timeout);
  // A call that is given up is not waited for, and gives its place back.
  on_loop([&] { running_.clear(); });
  for (std::size_t i = 0; i < places; ++i) static_cast<void>(call("list_files", "{}"));
  const ToolOutcome rejected = wait(call("list_files", "{}"));
  EXPECT_EQ(rejected.code, "too_much_work");
}

}  // namespace
}  // namespace millrace::tool
