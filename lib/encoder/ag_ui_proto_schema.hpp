// The messages of AG-UI's protobuf schema, by the members of the JSON that they are made of.
// Source: AG-UI protocol 1.0, its protobuf schema.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace millrace::encoder::proto {

// How a member is written. A member of another type than its kind takes is passed over, so that one
// member can have several fields: a content is a text, or parts, or an object.
enum class Kind : std::uint8_t {
  text,
  texts,
  flag,
  integer,
  value,      // google.protobuf.Value
  structure,  // google.protobuf.Struct
  message,    // or a list of them
  parts,      // a list of InputContent, a field for each type
  source,     // InputContentSource, a field for each type
  patch,      // the name of an operation
};

struct Shape;

// A name with a dot is a member of a member.
struct Field {
  std::uint8_t number;
  std::string_view name;
  Kind kind = Kind::text;
  const Shape* shape = nullptr;  // of a message
};

struct Shape {
  std::span<const Field> fields;
};

// What all events have in their first field, besides their type.
const Shape& base_shape();

struct EventShape {
  std::string_view type;
  std::uint8_t field;  // of Event
  std::uint8_t type_number;
  const Shape* shape;
};
// Nullptr for a type that the schema does not have.
const EventShape* find_event(std::string_view type);

// A part of a content, or where its bytes are.
struct Choice {
  std::string_view type;
  std::uint8_t field;
  const Shape* shape;
};
const Choice* find_part(std::string_view type);
const Choice* find_source(std::string_view type);

}  // namespace millrace::encoder::proto
