// The tools that the engine brings along. Each is a row of the table in builtin.cpp and a file.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "net/client.hpp"
#include "tool/builtin/options.hpp"
#include "tool/registry.hpp"
#include "tool/tool.hpp"

namespace millrace::os {
class BlockingPool;
class EventLoop;
}  // namespace millrace::os

namespace millrace::tool {

// What the tools work with.
// Lifetime: outlives the tools and their calls.
struct Surroundings {
  os::EventLoop& loop;
  net::Client& client;
  os::BlockingPool& pool;
};

// Of the pool: how many calls of files run, and how many wait.
inline constexpr std::size_t pool_threads = 4;
inline constexpr std::size_t pool_places = 256;

using Tools = std::vector<std::shared_ptr<Tool>>;

// Makes the tools that `options` names, each with `true` or with options of its own.
// Shape: {"time", "calculator", "httpFetch", "readPage", "webSearch", "files", "runProcess", "skills"},
// what each takes stands in its file; "allow", "expose", "deny": [patterns of names]: an `allow`
// that is not empty gives exactly those, whatever is exposed, and what is denied is denied.
// Errors: invalid_option.
Result<Registry> make_builtin_tools(const json::Tree& options, const Surroundings& around);

// Rows of the table (one file each). Errors: invalid_option.
Result<Tools> make_time(const json::Tree& options, const Surroundings& around);
Result<Tools> make_calculator(const json::Tree& options, const Surroundings& around);
Result<Tools> make_http_fetch(const json::Tree& options, const Surroundings& around);
Result<Tools> make_read_page(const json::Tree& options, const Surroundings& around);
Result<Tools> make_web_search(const json::Tree& options, const Surroundings& around);
Result<Tools> make_files(const json::Tree& options, const Surroundings& around);
Result<Tools> make_run_process(const json::Tree& options, const Surroundings& around);
Result<Tools> make_skills(const json::Tree& options, const Surroundings& around);

// The address of the endpoint `path` for an address, without query, that leads to it or to the root
// above it.
std::string endpoint_at(std::string_view url, std::string_view path);

// A tool that answers at once.
class InstantTool final : public Tool {
 public:
  using Run = std::function<ToolOutcome(const json::Tree& arguments)>;
  InstantTool(Spec spec, Run run);
  [[nodiscard]] const Spec& spec() const override { return spec_; }
  std::unique_ptr<RunningTool> start(ToolCall call, std::shared_ptr<ToolHost> host) override;

 private:
  Spec spec_;
  Run run_;
};

// A tool whose calls may block for as long as a disk, or a file system far away, does. They run on
// the pool; a call that is given up is not waited for.
class BlockingTool final : public Tool {
 public:
  // Called on threads of the pool, several at a time.
  using Run = std::function<ToolOutcome(const json::Tree& arguments)>;
  BlockingTool(Spec spec, os::BlockingPool& pool, Run run);
  [[nodiscard]] const Spec& spec() const override { return spec_; }
  std::unique_ptr<RunningTool> start(ToolCall call, std::shared_ptr<ToolHost> host) override;

 private:
  Spec spec_;
  os::BlockingPool& pool_;
  std::shared_ptr<const Run> run_;  // a call may outlive the tool
};

// A tool that sends one request for each call.
class FetchingTool final : public Tool {
 public:
  using Start = std::function<std::unique_ptr<RunningTool>(const json::Tree& arguments,
                                                           std::shared_ptr<ToolHost> host)>;
  FetchingTool(Spec spec, Start start);
  [[nodiscard]] const Spec& spec() const override { return spec_; }
  std::unique_ptr<RunningTool> start(ToolCall call, std::shared_ptr<ToolHost> host) override;

 private:
  Spec spec_;
  Start start_;
};

}  // namespace millrace::tool
