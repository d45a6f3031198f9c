#include "app/store_commands.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "app/open_stores.hpp"
#include "app/run_report.hpp"
#include "app/store_transfer.hpp"
#include "app/undefined_import.hpp"
#include "base/shown.hpp"
#include "os/file_lock.hpp"
#include "os/random_ids.hpp"
#include "run/durable/answered_before.hpp"
#include "run/durable/check_messages.hpp"
#include "run/durable/run_ends.hpp"
#include "run/durable/run_fork.hpp"
#include "run/durable/run_info.hpp"
#include "run/durable/run_records.hpp"
#include "store/rules.hpp"

namespace millrace::app {
namespace {

using json::Tree;
namespace fs = std::filesystem;

struct CommandPlace {
  store::StorageBackend& backend;
  const Tree& options;
  const StoreProgress& progress;
  const std::string& path;
};
using RunCommand = Result<Tree> (*)(CommandPlace& at);

enum class Access : std::uint8_t { none, read, write, make };
struct StoreCommand {
  std::string_view name;
  Access access;
  RunCommand run;
};

Result<store::RunId> run_id_of(const Tree& options) {
  const std::string_view id = options["id"].string();
  const auto run = store::RunId::parse(id);
  if (run) return *run;
  return make_error(Errc::run_not_found, "There is no run " + shown_text(id) + ".");
}

// The process that has the store.
std::optional<std::string> owner_of(const std::string& path) {
  return os::FileLock::holder_of(path + ".lock");
}

void set_owner(Tree& to, const std::optional<std::string>& owner) {
  if (owner) to.set("owner", *owner);
}

std::int64_t bytes_of(const std::string& path) {
  std::error_code failed;
  const auto size = fs::file_size(path, failed);
  return failed ? 0 : static_cast<std::int64_t>(size);
}

// --- commands that read

Result<Tree> list_runs(CommandPlace& at) {
  auto query = run::read_run_query(at.options["query"]);
  if (!query) return std::move(query).error();
  auto found = at.backend.runs(query.value());
  if (!found) return std::move(found).error();
  Tree list = run::run_list(found.value());
  const auto owner = owner_of(at.path);
  for (Tree& info : list.find("runs")->items()) correct_owner(info, owner.has_value());
  set_owner(list, owner);
  return list;
}

Result<Tree> show_run(CommandPlace& at) {
  const auto run = run_id_of(at.options);
  if (!run) return run.error();
  const auto owner = owner_of(at.path);
  auto report = report_run(at.backend, run.value(), owner.has_value());
  if (report) set_owner(report.value(), owner);
  return report;
}

Result<Tree> read_run(CommandPlace& at) {
  const auto run = run_id_of(at.options);
  if (!run) return run.error();
  const std::int64_t after = at.options["after"].integer_or(0);
  return run::read_records_json(at.backend, run.value(),
                                static_cast<std::uint64_t>(std::max<std::int64_t>(after, 0)));
}

Result<Tree> read_messages(CommandPlace& at) {
  const auto run = run_id_of(at.options);
  if (!run) return run.error();
  return run::read_given_messages(at.backend, run.value());
}

Result<Tree> write_replay(CommandPlace& at) {
  const auto run = run_id_of(at.options);
  if (!run) return run.error();
  run::ReplayRequest request{run.value(), {}, std::string(at.options["as"].string())};
  if (at.options["version"].is_string()) request.version = at.options["version"].string();
  auto file = TransferFile::to_write(at.options);
  if (!file) return std::move(file).error();
  return replay_into(at.backend, request, file.value());
}

Result<Tree> check_store(CommandPlace& at) {
  auto found = at.backend.check();
  if (!found) return std::move(found).error();
  auto messages = run::check_messages(at.backend);
  if (!messages) return std::move(messages).error();
  std::vector<store::Problem>& all = found.value();
  all.insert(all.end(), messages.value().begin(), messages.value().end());
  Tree result = Tree::object();
  Tree& problems = result.set("problems", Tree::array());
  for (const store::Problem& problem : found.value()) {
    Tree& one = problems.push(Tree::object());
    if (!problem.run.empty()) one.set("run", problem.run.text());
    one.set("code", row_of(problem.code).code);
    one.set("what", problem.what);
  }
  return result;
}

Result<Tree> back_up(CommandPlace& at) {
  const std::string path(at.options["path"].string());
  MILLRACE_TRY(at.backend.backup(path));
  Tree result = Tree::object();
  result.set("path", path);
  result.set("bytes", Tree::integer(bytes_of(path)));
  return result;
}

Result<Tree> write_export(CommandPlace& at) {
  auto file = TransferFile::to_write(at.options);
  if (!file) return std::move(file).error();
  return export_store(at.backend, file.value(), at.progress);
}

// Who has the store, and how it can be reached (app/store_control.hpp).
Result<Tree> find_owner(const std::string& path) {
  Tree result = Tree::object();
  const auto owner = owner_of(path);
  if (!owner) return result;
  result.set("pid", *owner);
  std::ifstream file(path + ".control");
  std::ostringstream text;
  text << file.rdbuf();
  const auto control = Tree::parse(text.str());
  // What a process left that was killed is of another one.
  if (!control || control.value()["pid"].string() != *owner) return result;
  result.set("url", control.value()["url"].string());
  result.set("token", control.value()["token"].string());
  return result;
}

// --- commands that write, where no process has the store

Result<Tree> stop_run(CommandPlace& at) {
  const auto run = run_id_of(at.options);
  if (!run) return run.error();
  const auto row = at.backend.run(run.value());
  if (!row) return row.error();
  if (row.value() && !journal::is_over(row.value()->state)) {
    const std::string owner = owner_name();
    const auto ended =
        run::end_left_run(at.backend, {run.value(), owner, "cli", at.options["reason"].string()});
    if (!ended) return ended.error();
  }
  return run::describe_run(at.backend, run.value(), {});
}

Result<Tree> fork_left_run(CommandPlace& at) {
  const auto run = run_id_of(at.options);
  if (!run) return run.error();
  auto request = run::read_fork(at.options["fork"]);
  if (!request) return std::move(request).error();
  request.value().run = run.value();
  os::RandomIds ids;
  const auto forked = run::fork_run(at.backend, request.value(), ids);
  if (!forked) return forked.error();
  return run::describe_run(at.backend, forked.value(), {});
}

Error no_approval(const std::string& approval) {
  return make_error(Errc::approval_mismatch,
                    "The run has no approval " + shown_text(approval) + ".");
}

Result<Tree> decide_approval(CommandPlace& at) {
  const auto run = run_id_of(at.options);
  if (!run) return run.error();
  store::ApprovalQuery query;
  query.run = run.value();
  query.open_only = false;
  const auto approvals = at.backend.approvals(query);
  if (!approvals) return approvals.error();
  store::Decision decision;
  decision.approval = at.options["approval"].string();
  const auto found =
      std::find_if(approvals.value().begin(), approvals.value().end(),
                   [&](const store::ApprovalRow& row) { return row.id == decision.approval; });
  if (found == approvals.value().end()) {
    return no_approval(decision.approval);
  }
  decision.principal = found->principal;
  Tree entry = at.options["entry"];
  entry.set("interruptId", decision.approval);
  decision.decision = entry.to_json();
  decision.by = "cli";
  decision.run = run.value();
  auto decided = at.backend.decide(decision);
  if (!decided) return std::move(decided).error();
  const store::DecisionStatus status = decided.value().status;
  const bool is_over =
      status == store::DecisionStatus::answered || status == store::DecisionStatus::expired;
  if (is_over) return run::answered_before(*found);
  if (status != store::DecisionStatus::decided) return no_approval(decision.approval);
  return run::describe_run(at.backend, run.value(), {});
}

Result<Tree> vacuum_store(CommandPlace& at) {
  Tree result = Tree::object();
  result.set("bytesBefore", Tree::integer(bytes_of(at.path) + bytes_of(at.path + "-wal")));
  // Each gives back some pages; the first one only moves the log.
  MILLRACE_TRY(at.backend.tidy());
  std::int64_t bytes = bytes_of(at.path);
  for (std::int64_t before = bytes + 1; bytes < before;) {
    before = bytes;
    MILLRACE_TRY(at.backend.tidy());
    bytes = bytes_of(at.path);
  }
  result.set("bytesAfter", Tree::integer(bytes));
  return result;
}

Result<Tree> read_import(CommandPlace& at) {
  auto file = TransferFile::to_read(at.options);
  if (!file) return std::move(file).error();
  return import_store(at.backend, file.value(), at.progress);
}

Result<Tree> read_undefined(CommandPlace& at) {
  const std::int64_t most = at.options["memoryMax"].integer_or(0);
  if (most <= 0) return make_error(Errc::invalid_option, "`memoryMax` must be a number of facts.");
  return import_undefined(at.backend, std::string(at.options["path"].string()),
                          std::string(at.options["principal"].string()),
                          static_cast<std::size_t>(most), at.progress);
}

constexpr std::array store_commands{
    StoreCommand{"runs", Access::read, list_runs},
    StoreCommand{"run", Access::read, show_run},
    StoreCommand{"records", Access::read, read_run},
    StoreCommand{"messages", Access::read, read_messages},
    StoreCommand{"replay", Access::read, write_replay},
    StoreCommand{"owner", Access::none, nullptr},
    StoreCommand{"stop", Access::write, stop_run},
    StoreCommand{"approve", Access::write, decide_approval},
    StoreCommand{"fork", Access::write, fork_left_run},
    StoreCommand{"check", Access::read, check_store},
    StoreCommand{"backup", Access::read, back_up},
    StoreCommand{"vacuum", Access::write, vacuum_store},
    StoreCommand{"export", Access::read, write_export},
    StoreCommand{"import", Access::make, read_import},
    StoreCommand{"import-undefined", Access::make, read_undefined},
};

Result<StoreOptions> options_of(const Tree& options, Access access) {
  Tree chosen = Tree::object();
  for (const std::string_view name : {"storage", "openTimeoutMs", "allowNetworkFileSystem"}) {
    if (const Tree* value = options.find(name)) chosen.set(name, *value);
  }
  if (access == Access::read) chosen.set("role", "reader");
  auto read = read_store_options(chosen);
  if (!read) return read;
  if (path_of(read.value().storage).empty()) {
    return make_error(Errc::invalid_option,
                      "`storage` must be 'file:' and a path: a store in memory is its process's.");
  }
  return read;
}

// On the store's own thread.
Result<Tree> carry_out(store::Writer& writer, const StoreCommand& command, const Tree& options,
                       const StoreProgress& progress, const std::string& path) {
  std::promise<Result<Tree>> result;
  writer.run([&](store::StorageBackend& backend) {
    CommandPlace at{backend, options, progress, path};
    result.set_value(command.run(at));
  });
  return result.get_future().get();
}

Result<Tree> open_and_run(const StoreCommand& command, const Tree& options,
                          const StoreProgress& progress) {
  auto read = options_of(options, command.access);
  if (!read) return std::move(read).error();
  const std::string path = path_of(read.value().storage);
  std::error_code failed;
  const bool is_there = fs::exists(path, failed);
  if (!is_there && command.access != Access::make) {
    return make_error(Errc::invalid_option,
                      "There is no store " + shown_text(path) +
                          ". Name the one that `millrace serve --storage` or a runtime uses.");
  }
  if (command.access == Access::none) return find_owner(path);
  auto writer = open_store(read.value());
  if (!writer) return std::move(writer).error();
  auto result = carry_out(*writer.value(), command, options, progress, path);
  writer.value().reset();
  if (!is_there && !result) {
    // Nothing was there before.
    for (const char* end : {"", "-wal", "-shm", ".lock"}) fs::remove(path + end, failed);
  }
  return result;
}

}  // namespace

Result<std::string> run_store_command(const Tree& options, const StoreProgress& progress) {
  const std::string_view name = options["command"].string();
  for (const StoreCommand& command : store_commands) {
    if (command.name != name) continue;
    auto result = open_and_run(command, options, progress);
    if (!result) return std::move(result).error();
    return result.value().to_json(json::Surrogates::replace);
  }
  return make_error(Errc::invalid_argument, "There is no command " + shown_text(name) + ".");
}

}  // namespace millrace::app
