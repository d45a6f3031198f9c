#include "api/served_runs.hpp"

#include <string_view>
#include <utility>

#include "os/event_loop.hpp"

namespace millrace::api {
namespace {

constexpr std::string_view agent_name = "agent";

}  // namespace

// A server runs no tools of a host: none is among those of its plan.
class ServedRuns::NoHost final : public run::RunHost {
 public:
  explicit NoHost(ServedRuns& owner) : owner_(owner) {}

  void request_host(const store::RunId& run, run::HostWork work, std::uint64_t id,
                    std::string json) override {
    static_cast<void>(work);
    static_cast<void>(json);
    owner_.loop_.post([weak = std::weak_ptr(owner_.registry_), run, id] {
      if (const auto registry = weak.lock()) {
        registry->complete(run, id, R"({"content":"No host runs this tool.","isError":true})");
      }
    });
  }
  void withdraw(const store::RunId& run, std::uint64_t id) override {
    static_cast<void>(run);
    static_cast<void>(id);
  }

 private:
  ServedRuns& owner_;
};

ServedRuns::ServedRuns(os::EventLoop& loop) : loop_(loop) {}

ServedRuns::~ServedRuns() = default;

void ServedRuns::open(const model::DriverServices& services, const RecordingOptions& options) {
  host_ = std::make_unique<NoHost>(*this);
  registry_ = std::make_shared<run::RunRegistry>(services, options.writer, options.owner);
  registry_->limit_left(options.left);
  registry_->on_error(options.on_error);
  requests_ = std::make_shared<run::RunRequests>(loop_, options.writer, registry_);
  run::UpkeepOptions upkeep;
  upkeep.retention = options.retention;
  upkeep_ = std::make_shared<run::RunUpkeep>(loop_, options.writer, registry_, upkeep);
  registry_->on_suspend([this] {
    if (upkeep_) upkeep_->look();
  });
  stops_left_ = options.stops_left;
  approval_ms_ = options.approval_ms;
  loop_.post([upkeep = upkeep_] { upkeep->start(); });
}

void ServedRuns::set_agent(std::shared_ptr<const run::AgentPlan> plan, std::string version) {
  run::DurableAgent agent{std::move(version), std::move(plan), host_.get()};
  agent.stops_left = stops_left_;
  agent.approval_ms = approval_ms_;
  loop_.post([registry = registry_, agent = std::move(agent)] {
    registry->add(std::string(agent_name), agent);
  });
}

void ServedRuns::close() {
  if (registry_) registry_->close();
  upkeep_ = nullptr;
  requests_ = nullptr;
  registry_ = nullptr;
}

}  // namespace millrace::api
