#include "tool/builtin/builtin.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/shown.hpp"
#include "os/blocking_pool.hpp"
#include "tool/fetch.hpp"
#include "tool/policy.hpp"

namespace millrace::tool {
namespace {

using json::Tree;

struct Row {
  std::string_view name;
  Result<Tools> (*make)(const Tree& options, const Surroundings& around);
  // What its options may hold, each between commas.
  std::string_view members;
};

constexpr std::array rows{
    Row{"time", make_time, ",zone,approval,"},
    Row{"calculator", make_calculator, ",approval,"},
    Row{"httpFetch", make_http_fetch,
        ",methods,allow,ports,httpsOnly,allowedOnly,trustsProxy,maxBytes,timeoutMs,userAgent,"
        "approval,"},
    Row{"readPage", make_read_page,
        ",allow,ports,httpsOnly,allowedOnly,trustsProxy,maxBytes,timeoutMs,userAgent,approval,"},
    Row{"webSearch", make_web_search, ",provider,url,apiKey,maxResults,timeoutMs,approval,"},
    Row{"files", make_files, ",root,write,maxBytes,approval,"},
    Row{"runProcess", make_run_process,
        ",programs,directory,environment,timeoutMs,maxBytes,approval,"},
    Row{"skills", make_skills, ",list,"}};

// The model's arguments; the caller has checked them against the schema.
Tree arguments_of(const ToolCall& call) {
  auto parsed = Tree::parse(call.arguments.empty() ? "{}" : std::string_view(call.arguments));
  return parsed ? std::move(parsed).value() : Tree::object();
}

// A call on the pool. What waits for it is reached from the engine thread alone.
class PooledCall final : public RunningTool {
 public:
  struct Waiter {
    std::shared_ptr<ToolHost> host;
  };

  PooledCall(os::BlockingPool& pool, os::BlockingPool::Ticket ticket,
             std::shared_ptr<Waiter> waiter)
      : pool_(pool), ticket_(ticket), waiter_(std::move(waiter)) {}
  ~PooledCall() override { PooledCall::cancel(); }
  PooledCall(const PooledCall&) = delete;
  PooledCall& operator=(const PooledCall&) = delete;

  void cancel() override {
    if (std::exchange(waiter_, nullptr)) pool_.withdraw(ticket_);
  }

 private:
  os::BlockingPool& pool_;
  os::BlockingPool::Ticket ticket_;
  std::shared_ptr<Waiter> waiter_;
};

// A misspelt option would leave a tool more open than it was meant to be.
Result<void> check_members(const Row& row, const Tree& wish) {
  const auto quoted = [](std::string_view name) { return "`" + std::string(name) + "`"; };
  const bool is_wish = wish.is_null() || wish.is_object() || wish == Tree::flag(wish.is_true());
  if (!is_wish) {
    return make_error(Errc::invalid_option,
                      quoted(row.name) + " must be true, false or an object of options, not " +
                          shown_value(wish) + ".");
  }
  for (const auto& [name, value] : wish.members()) {
    const std::string wanted = "," + std::string(name) + ",";
    const bool is_word = name.view().find(',') == std::string_view::npos;
    if (is_word && row.members.find(wanted) != std::string_view::npos) continue;
    std::string known(row.members.substr(1, row.members.size() - 2));
    for (std::size_t at = 0; (at = known.find(',', at)) != std::string::npos; at += 2) {
      known.insert(at + 1, " ");
    }
    return make_error(Errc::invalid_option,
                      quoted(row.name) + " has no option " + quoted(name) + "; use " + known + ".");
  }
  return {};
}

Error unknown_option(std::string_view name) {
  std::string known;
  for (const Row& row : rows) known.append(known.empty() ? "" : ", ").append(row.name);
  return make_error(Errc::invalid_option, "There is no builtin tool '" + std::string(name) +
                                              "'; use " + known +
                                              ", or the lists allow, expose and deny.");
}

}  // namespace

InstantTool::InstantTool(Spec spec, Run run) : spec_(std::move(spec)), run_(std::move(run)) {}

std::unique_ptr<RunningTool> InstantTool::start(ToolCall call, std::shared_ptr<ToolHost> host) {
  host->finished(run_(arguments_of(call)));
  return nullptr;
}

BlockingTool::BlockingTool(Spec spec, os::BlockingPool& pool, Run run)
    : spec_(std::move(spec)), pool_(pool), run_(std::make_shared<const Run>(std::move(run))) {}

std::unique_ptr<RunningTool> BlockingTool::start(ToolCall call, std::shared_ptr<ToolHost> host) {
  const auto waiter = std::make_shared<PooledCall::Waiter>();
  const std::weak_ptr<PooledCall::Waiter> weak = waiter;
  auto queued = pool_.run([run = run_, call = std::move(call), weak]() -> os::BlockingPool::Done {
    return [weak, outcome = (*run)(arguments_of(call))] {
      const auto found = weak.lock();
      if (found && found->host) std::exchange(found->host, nullptr)->finished(outcome);
    };
  });
  if (!queued) {
    host->finished(failed(queued.error()));
    return nullptr;
  }
  waiter->host = std::move(host);
  return std::make_unique<PooledCall>(pool_, queued.value(), waiter);
}

FetchingTool::FetchingTool(Spec spec, Start start)
    : spec_(std::move(spec)), start_(std::move(start)) {}

std::unique_ptr<RunningTool> FetchingTool::start(ToolCall call, std::shared_ptr<ToolHost> host) {
  return start_(arguments_of(call), std::move(host));
}

Result<Registry> make_builtin_tools(const Tree& options, const Surroundings& around) {
  if (!options.is_object()) {
    return make_error(Errc::invalid_option,
                      "The builtin tools must be an object such as { calculator: true }, not " +
                          shown_value(options) + ".");
  }
  Registry registry;
  for (const auto& [name, wish] : options.members()) {
    if (name == "allow" || name == "expose" || name == "deny") continue;
    const auto* row =
        std::find_if(rows.begin(), rows.end(),
                     [wanted = std::string_view(name)](const Row& r) { return r.name == wanted; });
    if (row == rows.end()) return unknown_option(name);
    MILLRACE_TRY(check_members(*row, wish));
    if (!wish.truthy()) continue;
    auto tools = row->make(wish.is_object() ? wish : Tree::object(), around);
    if (!tools) return std::move(tools).error();
    for (const std::shared_ptr<Tool>& tool : tools.value()) MILLRACE_TRY(registry.add(tool));
  }
  auto policy = read_policy(options);
  if (!policy) return std::move(policy).error();
  return exposed(registry, policy.value());
}

}  // namespace millrace::tool
