// The page that a gateway answers with where an error is due.
#pragma once

#include <string>
#include <string_view>

namespace millrace::model {

// What stands for a text that is an HTML page: "an HTML page", with its title where it has one.
// "" for any other text.
std::string html_page(std::string_view text);

}  // namespace millrace::model
