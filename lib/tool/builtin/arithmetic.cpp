// The tool `calculator`.
#include "tool/builtin/builtin.hpp"
#include "tool/builtin/calculator.hpp"
#include "tool/fetch.hpp"

namespace millrace::tool {

Result<Tools> make_calculator(const json::Tree& options, const Surroundings&) {
  Spec spec;
  spec.name = "calculator";
  spec.description =
      "Calculates an arithmetic expression: + - * / % ^, parentheses, pi, e, and functions such as "
      "sqrt, round, min, max, log, ln, sin.";
  spec.parameters =
      R"({"type":"object","properties":{"expression":{"type":"string","maxLength":1000,)"
      R"("description":"For example (3 + 4) * sqrt(2)."}},"required":["expression"],)"
      R"("additionalProperties":false})";
  spec.effect = Effect::read;
  MILLRACE_TRY(read_approval(options, spec));
  const auto run = [](const json::Tree& arguments) {
    const auto value = calculate(arguments["expression"].string());
    return value ? ToolOutcome{.content = value.value()} : failed(value.error());
  };
  return Tools{std::make_shared<InstantTool>(std::move(spec), run)};
}

}  // namespace millrace::tool
