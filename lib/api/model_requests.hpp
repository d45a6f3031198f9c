// What a server has its model make for its routes: titles of conversations, and objects by a
// schema.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/ids.hpp"
#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "model/payload/payload.hpp"
#include "model/provider/config.hpp"

namespace millrace::api {

// The request for the title of a conversation.
// Shape: `first` is {"question", "answer"}; what is long of them is cut.
Result<model::ChatPayload> title_request(std::string_view model, const json::Tree& first,
                                         IdSource& ids);

// An object on its way: a request, and once more one where the answer does not follow the schema.
struct ObjectWork {
  json::Tree payload;  // of the next request
  std::string plan;    // of model::plan_object; "": calls of tools are wanted
  bool is_last = false;
};

// Shape: `body` is {"messages", "schema": JSON Schema or {"name"?, "description"?, "strict"?,
// "schema"}, or "tools"}.
// Errors: those of model::plan_object.
Result<ObjectWork> object_work(const model::ProviderConfig& config, std::string_view model,
                               const json::Tree& body);

// What the answer is worth: the object, or the calls [{"name", "arguments": object}]. Nothing where
// the next request of `work` is to be made.
// Errors: invalid_object, and those of model::judge_object.
Result<std::optional<json::Tree>> take_object(ObjectWork& work, const json::Tree& message);

}  // namespace millrace::api
