// What a tool gives beside the text of its result.
#pragma once

#include <cstddef>
#include <string>

#include "base/json_tree.hpp"

namespace millrace::tool {

// Null is absent.
struct Details {
  json::Tree state = {};        // structured content
  json::Tree citations = {};    // an array
  json::Tree attachments = {};  // an array
  json::Tree parts = {};        // content parts that a model is shown in place of the text
  json::Tree others = {};       // further members of a host's record, as an object

  [[nodiscard]] bool empty() const {
    return state.is_null() && citations.is_null() && attachments.is_null() && parts.is_null() &&
           others.is_null();
  }
};

// Reads the members of an object; those of other types than above are among the others.
Details read_details(const json::Tree& members);

// Sets them as members of an object.
void set_details(json::Tree& object, const Details& details);

// The members as JSON text `"key":value,...` without braces.
std::string members_json(const Details& details);

}  // namespace millrace::tool
