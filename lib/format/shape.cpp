#include "format/shape.hpp"

#include <algorithm>
#include <array>

#include "base/shown.hpp"

namespace millrace::format {
namespace {

struct TypeWord {
  std::uint8_t bit;
  std::string_view word;
};
constexpr std::array<TypeWord, 4> type_words{
    {{a_string, "a string"}, {a_flag, "a boolean"}, {an_object, "an object"}, {a_list, "a list"}}};

bool is_one_of(const json::Value& value, std::uint8_t types) {
  return ((types & a_string) != 0 && value.is_string()) ||
         ((types & an_object) != 0 && value.is_object()) ||
         ((types & a_list) != 0 && value.is_array()) ||
         ((types & a_flag) != 0 && (value.is_true() || value.is(json::Type::boolean_false)));
}

Error wrong_shape(const std::string& where, std::uint8_t types, const json::Value& value) {
  std::string expected;
  for (const TypeWord& row : type_words) {
    if ((types & row.bit) != 0) expected.append(expected.empty() ? "" : " or ").append(row.word);
  }
  return make_error(Errc::invalid_messages,
                    where + " must be " + expected + ", not " + shown_value(value) + ".");
}

Error unknown_word(const std::string& where, std::span<const std::string_view> words,
                   const json::Value& value) {
  std::string list;
  for (const std::string_view word : words) list.append(list.empty() ? "" : ", ").append(word);
  return make_error(Errc::invalid_messages,
                    where + " must be one of " + list + ", not " + shown_value(value) + ".");
}

}  // namespace

Result<void> check_member(const json::Value& value, const MemberShape& row,
                          const std::string& where) {
  if (value.is_nothing()) {
    if (!row.is_needed) return {};
    return make_error(Errc::invalid_messages, where + " is missing.");
  }
  if (!is_one_of(value, row.types)) return wrong_shape(where, row.types, value);
  const bool is_word =
      std::find(row.words.begin(), row.words.end(), value.string()) != row.words.end();
  if (!row.words.empty() && !is_word) return unknown_word(where, row.words, value);
  if (row.inside == nullptr) return {};
  if (value.is_array()) return check_shapes(value, *row.inside, where);
  return value.is_object() ? check_shape(value, *row.inside, where) : Result<void>();
}

Result<void> check_shape(const json::Value& value, const Shape& shape, const std::string& where) {
  if (!is_one_of(value, shape.types)) return wrong_shape(where, shape.types, value);
  if (!value.is_object()) return {};
  const std::string_view type = value["type"].string();
  for (const MemberShape& row : shape.members) {
    if (row.of_type != every_type && row.of_type != type) continue;
    const json::Value member = value[row.name];
    if (member.is_nothing() && !row.is_needed) continue;
    MILLRACE_TRY(check_member(member, row, where + "." + std::string(row.name)));
  }
  return {};
}

Result<void> check_shapes(const json::Value& list, const Shape& shape, std::string_view where) {
  std::size_t at = 0;
  for (const json::Value value : list.items()) {
    const std::size_t place = at++;
    if (value.is_null()) continue;
    MILLRACE_TRY(check_shape(value, shape, std::string(where) + "[" + std::to_string(place) + "]"));
  }
  return {};
}

Result<void> check_has_one_of(const json::Value& list, std::span<const std::string_view> members,
                              std::string_view where) {
  std::size_t at = 0;
  for (const json::Value value : list.items()) {
    const std::size_t place = at++;
    const bool has_one =
        value.is_null() || std::any_of(members.begin(), members.end(), [&](std::string_view name) {
          return value[name].filled_string().has_value();
        });
    if (has_one) continue;
    std::string names;
    for (const std::string_view name : members) {
      if (!names.empty()) names.append(name == members.back() ? " or " : ", ");
      names.append("`").append(name).append("`");
    }
    return make_error(Errc::invalid_messages,
                      std::string(where) + "[" + std::to_string(place) + "] needs " + names + ".");
  }
  return {};
}

}  // namespace millrace::format
