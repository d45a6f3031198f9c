// The tools that an agent has, by name.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "schema/schema.hpp"
#include "tool/tool.hpp"

namespace millrace::tool {

// Thread: engine thread once it is filled; copies share the tools.
class Registry {
 public:
  struct Entry {
    std::shared_ptr<Tool> tool;
    schema::Schema parameters;
  };

  // Errors: invalid_option for a name that is taken or that providers refuse, and those of
  // Schema::compile for the parameters.
  Result<void> add(std::shared_ptr<Tool> tool);

  [[nodiscard]] Tool* find(std::string_view name) const;
  [[nodiscard]] bool empty() const { return tools_.empty(); }
  // Sorted by name.
  [[nodiscard]] const std::map<std::string, Entry, std::less<>>& entries() const { return tools_; }

  // Checks the arguments of a call; text that is empty stands for {}, and what is nearly JSON for
  // the object that it means (base/json_repair.hpp).
  // Errors: tool_not_found, invalid_argument with a sentence that the model can act on.
  [[nodiscard]] Result<void> check(std::string_view name, std::string_view arguments) const;

 private:
  std::map<std::string, Entry, std::less<>> tools_;
};

}  // namespace millrace::tool
