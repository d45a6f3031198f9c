#include "app/demo_tools.hpp"

#include <string>
#include <utility>

#include "base/json.hpp"

namespace millrace::app {
namespace {

class Postcard final : public tool::Tool {
 public:
  Postcard() {
    spec_.name = "send_postcard";
    spec_.description = "Sends a postcard (in this demo nothing is sent).";
    spec_.parameters =
        R"({"type":"object","properties":{"to":{"type":"string"},"text":{"type":"string"}},)"
        R"("required":["to"]})";
  }
  [[nodiscard]] const tool::Spec& spec() const override { return spec_; }

  std::unique_ptr<tool::RunningTool> start(tool::ToolCall call,
                                           std::shared_ptr<tool::ToolHost> host) override {
    json::Document document;
    const auto arguments = document.parse(call.arguments);
    const std::string to(arguments ? arguments.value()["to"].string() : std::string_view());
    host->finished({"The postcard to " + to + " is on its way"});
    return nullptr;
  }

 private:
  tool::Spec spec_;
};

}  // namespace

std::shared_ptr<tool::Tool> demo_tool() {
  return std::make_shared<Postcard>();
}

}  // namespace millrace::app
