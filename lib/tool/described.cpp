#include "tool/described.hpp"

#include <utility>

namespace millrace::tool {
namespace {

class Described final : public Tool {
 public:
  Described(Spec spec, std::shared_ptr<Tool> inner)
      : spec_(std::move(spec)), inner_(std::move(inner)) {}
  [[nodiscard]] const Spec& spec() const override { return spec_; }

  std::unique_ptr<RunningTool> start(ToolCall call, std::shared_ptr<ToolHost> host) override {
    call.name = inner_->spec().name;
    return inner_->start(std::move(call), std::move(host));
  }

 private:
  Spec spec_;
  std::shared_ptr<Tool> inner_;
};

}  // namespace

std::shared_ptr<Tool> described_as(Spec spec, std::shared_ptr<Tool> inner) {
  return std::make_shared<Described>(std::move(spec), std::move(inner));
}

}  // namespace millrace::tool
