// The shapes that the readers of formats take, and the check before they read.
//
// Readers look at the members that they know and take what is of another type for nothing: so a
// list of messages is checked first. What a shape does not list is not checked.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/json.hpp"
#include "base/result.hpp"

namespace millrace::format {

// The types that a value may have, as bits.
inline constexpr std::uint8_t a_string = 1;
inline constexpr std::uint8_t a_flag = 2;
inline constexpr std::uint8_t an_object = 4;
inline constexpr std::uint8_t a_list = 8;

// A member's row is for objects of every type.
inline constexpr std::string_view every_type = "*";

struct Shape;

struct MemberShape {
  std::string_view name;
  std::uint8_t types = a_string;
  // Of the member when it is an object, and of each element when it is a list.
  const Shape* inside = nullptr;
  // The `type` of the objects that the row is for; "" is for those without one.
  std::string_view of_type = every_type;
  // What a string must be one of, where there are any.
  std::span<const std::string_view> words = {};
  bool is_needed = false;
};

struct Shape {
  std::uint8_t types = an_object;
  std::span<const MemberShape> members;
};

// Checks one value; `where` is its place, as `messages[0]`. Null counts as a missing member.
// Errors: invalid_messages names the place of the first value of another shape.
Result<void> check_shape(const json::Value& value, const Shape& shape, const std::string& where);

// Checks the member of a row; `where` is its place.
// Errors: as check_shape.
Result<void> check_member(const json::Value& value, const MemberShape& row,
                          const std::string& where);

// Checks each element of a list that is not null; `where` is the place of the list.
// Errors: as check_shape.
Result<void> check_shapes(const json::Value& list, const Shape& shape, std::string_view where);

// Checks that each object of a list (null is none) has one of the members, any string that is not
// "".
// Errors: as check_shape.
Result<void> check_has_one_of(const json::Value& list, std::span<const std::string_view> members,
                              std::string_view where);

}  // namespace millrace::format
