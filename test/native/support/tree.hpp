// JSON trees as tests write them.
#pragma once

#include <gtest/gtest.h>

#include <string_view>
#include <utility>

#include "base/json_tree.hpp"

namespace millrace::test {

// The tree of `json`; a text that is none fails the test.
inline json::Tree tree(std::string_view json) {
  auto parsed = json::Tree::parse(json);
  EXPECT_TRUE(parsed.ok()) << json;
  return parsed.ok() ? std::move(parsed).value() : json::Tree();
}

}  // namespace millrace::test
