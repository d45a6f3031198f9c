// What the OpenAPI document says of its parts in words, beside the summaries of the routes.
#pragma once

#include <span>
#include <string_view>
#include <utility>

namespace millrace::api {

using TextRow = std::pair<std::string_view, std::string_view>;

// The tag of a path. Shape: a name of tag_texts().
std::string_view tag_of(std::string_view path);
// Name and description of each tag, in the order of the names.
std::span<const TextRow> tag_texts();
// The description of a parameter; "" where there is none.
std::string_view parameter_text(std::string_view name);
// The description of an answer with this status of a route that has it.
std::string_view answer_text(int status);

}  // namespace millrace::api
