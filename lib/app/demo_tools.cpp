#include "app/demo_tools.hpp"

#include <string>
#include <utility>

#include "base/json.hpp"

namespace millrace::app {
namespace {

class DemoTool final : public tool::Tool {
 public:
  using Answer = std::string (*)(const json::Value& arguments);

  DemoTool(tool::Spec spec, Answer answer) : spec_(std::move(spec)), answer_(answer) {}
  [[nodiscard]] const tool::Spec& spec() const override { return spec_; }

  std::unique_ptr<tool::RunningTool> start(tool::ToolCall call,
                                           std::shared_ptr<tool::ToolHost> host) override {
    json::Document document;
    const auto arguments = document.parse(call.arguments);
    host->finished({answer_(arguments ? arguments.value() : json::Value())});
    return nullptr;
  }

 private:
  tool::Spec spec_;
  Answer answer_;
};

std::shared_ptr<tool::Tool> weather() {
  tool::Spec spec;
  spec.name = "look_up_weather";
  spec.description = "Tells the weather of a city (in this demo it is always fine).";
  spec.parameters =
      R"({"type":"object","properties":{"city":{"type":"string"}},"required":["city"]})";
  spec.effect = tool::Effect::read;
  return std::make_shared<DemoTool>(std::move(spec), [](const json::Value& arguments) {
    return "It is sunny in " + std::string(arguments["city"].string());
  });
}

std::shared_ptr<tool::Tool> postcard() {
  tool::Spec spec;
  spec.name = "send_postcard";
  spec.description = "Sends a postcard (in this demo nothing is sent).";
  spec.parameters =
      R"({"type":"object","properties":{"to":{"type":"string"},"text":{"type":"string"}},)"
      R"("required":["to"]})";
  return std::make_shared<DemoTool>(std::move(spec), [](const json::Value& arguments) {
    return "The postcard to " + std::string(arguments["to"].string()) + " is on its way";
  });
}

}  // namespace

std::vector<std::shared_ptr<tool::Tool>> demo_tools() {
  return {weather(), postcard()};
}

}  // namespace millrace::app
