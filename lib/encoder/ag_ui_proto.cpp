#include "encoder/ag_ui_proto.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>

#include "base/ascii.hpp"
#include "base/json.hpp"
#include "base/json_depth.hpp"
#include "base/read_float.hpp"
#include "base/utf8.hpp"
#include "encoder/ag_ui.hpp"
#include "encoder/ag_ui_proto_schema.hpp"

namespace millrace::encoder {
namespace {

using json::Value;
using proto::Field;
using proto::Kind;
using proto::Shape;

// --- the wire of protobuf

enum class Wire : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2 };

void append_varint(std::string& out, std::uint64_t number) {
  constexpr std::uint64_t more = 0x80;
  for (; number >= more; number >>= 7) {
    out.push_back(static_cast<char>((number & 0x7f) | more));
  }
  out.push_back(static_cast<char>(number));
}

void append_tag(std::string& out, std::uint8_t field, Wire wire) {
  append_varint(out, (std::uint64_t{field} << 3) | static_cast<std::uint64_t>(wire));
}

void append_number(std::string& out, std::uint8_t field, std::uint64_t number) {
  append_tag(out, field, Wire::varint);
  append_varint(out, number);
}

// The first value of an enumeration is the one of a field that is not there.
void append_enum(std::string& out, std::uint8_t field, std::uint64_t number) {
  if (number != 0) append_number(out, field, number);
}

void append_bytes(std::string& out, std::uint8_t field, std::string_view bytes) {
  append_tag(out, field, Wire::bytes);
  append_varint(out, bytes.size());
  out.append(bytes);
}

// Text of JSON may have lone surrogates, which protobuf has no place for.
void append_text(std::string& out, std::uint8_t field, std::string_view text) {
  std::string valid;
  utf8::append_replaced(valid, text);
  append_bytes(out, field, valid);
}

void append_double(std::string& out, std::uint8_t field, double number) {
  append_tag(out, field, Wire::fixed64);
  auto bits = std::bit_cast<std::uint64_t>(number);
  for (int at = 0; at < 8; ++at, bits >>= 8) out.push_back(static_cast<char>(bits & 0xff));
}

// --- google.protobuf.Value and Struct

std::string value_bytes(const Value& value);

bool is_flag(const Value& value) {
  return value.is_true() || value.is(json::Type::boolean_false);
}

std::string struct_bytes(const Value& object) {
  std::string out;
  for (const json::Member& member : object.members()) {
    std::string entry;
    append_text(entry, 1, member.key);
    append_bytes(entry, 2, value_bytes(member.value));
    append_bytes(out, 1, entry);
  }
  return out;
}

std::string value_bytes(const Value& value) {
  std::string out;
  if (value.is_number()) {
    append_double(out, 2, value.number().value_or(0));
  } else if (value.is_string()) {
    append_text(out, 3, value.string());
  } else if (is_flag(value)) {
    append_number(out, 4, value.is_true() ? 1 : 0);
  } else if (value.is_object()) {
    append_bytes(out, 5, struct_bytes(value));
  } else if (value.is_array()) {
    std::string list;
    for (const Value item : value.items()) append_bytes(list, 1, value_bytes(item));
    append_bytes(out, 6, list);
  } else {
    append_number(out, 1, 0);
  }
  return out;
}

// --- messages by their tables

constexpr std::array<std::string_view, 6> operations{"add",  "remove", "replace",
                                                     "move", "copy",   "test"};

std::string message_bytes(const Value& object, const Shape& shape);

// The part of AG-UI before 1.0, as @ag-ui/proto writes it.
std::string binary_part(const Value& part) {
  const bool has_data = part["data"].is_string();
  const Value place = part["url"].is_string() ? part["url"] : part["id"];
  std::string known;
  append_text(known, 1, has_data ? part["data"].string() : place.string());
  append_text(known, 2, part["mimeType"].string());
  std::string source;
  append_bytes(source, has_data ? 1 : 2, known);
  std::string members = R"({"legacyBinary":true)";
  for (const std::string_view name : {"filename", "id"}) {
    if (part[name].is_string()) json::append_member(members, name, part[name].string());
  }
  json::Document document(json::data_depth_limit);
  const auto metadata = document.parse(members + "}");
  std::string out;
  append_bytes(out, 1, source);
  if (metadata) append_bytes(out, 2, value_bytes(metadata.value()));
  return out;
}

void append_part(std::string& out, std::uint8_t field, const Value& part) {
  std::string chosen;
  const std::string_view type = part["type"].string();
  if (type == "binary") {
    append_bytes(chosen, proto::find_part("document")->field, binary_part(part));
  } else if (const proto::Choice* choice = proto::find_part(type)) {
    append_bytes(chosen, choice->field, message_bytes(part, *choice->shape));
  } else {
    // The schema has no such part: its JSON is a text.
    std::string text;
    append_text(text, 1, part.to_json());
    append_bytes(chosen, 1, text);
  }
  append_bytes(out, field, chosen);
}

void append_source(std::string& out, std::uint8_t field, const Value& source) {
  const proto::Choice* choice = proto::find_source(source["type"].string());
  if (choice == nullptr) return;
  std::string chosen;
  append_bytes(chosen, choice->field, message_bytes(source, *choice->shape));
  append_bytes(out, field, chosen);
}

void append_operation(std::string& out, std::uint8_t field, const Value& name) {
  const auto* const found = std::find(operations.begin(), operations.end(), name.string());
  if (found == operations.end()) return;
  append_enum(out, field, static_cast<std::uint64_t>(found - operations.begin()));
}

// One of a list.
void append_item(std::string& out, const Field& field, const Value& item) {
  if (field.kind == Kind::parts) return append_part(out, field.number, item);
  if (field.kind == Kind::texts) return append_text(out, field.number, item.string());
  append_bytes(out, field.number, message_bytes(item, *field.shape));
}

void append_value(std::string& out, const Field& field, const Value& value) {
  switch (field.kind) {
    case Kind::text:
      if (value.is_string()) append_text(out, field.number, value.string());
      return;
    case Kind::flag:
      if (is_flag(value)) append_number(out, field.number, value.is_true() ? 1 : 0);
      return;
    case Kind::integer:
      if (const auto number = value.integer()) {
        append_number(out, field.number, static_cast<std::uint64_t>(*number));
      }
      return;
    case Kind::value: return append_bytes(out, field.number, value_bytes(value));
    case Kind::structure:
      if (value.is_object()) append_bytes(out, field.number, struct_bytes(value));
      return;
    case Kind::message:
      if (value.is_object()) append_item(out, field, value);
      return;
    case Kind::source: return append_source(out, field.number, value);
    case Kind::patch: return append_operation(out, field.number, value);
    case Kind::texts:
    case Kind::parts: return;
  }
}

Value member_of(const Value& object, std::string_view name) {
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return object[name];
  return object[name.substr(0, dot)][name.substr(dot + 1)];
}

void append_fields(std::string& out, const Value& object, const Shape& shape) {
  for (const Field& field : shape.fields) {
    const Value value = member_of(object, field.name);
    if (!value.exists()) continue;
    const bool is_list =
        value.is_array() &&
        (field.kind == Kind::texts || field.kind == Kind::message || field.kind == Kind::parts);
    if (!is_list) {
      append_value(out, field, value);
      continue;
    }
    for (const Value item : value.items()) append_item(out, field, item);
  }
}

std::string message_bytes(const Value& object, const Shape& shape) {
  std::string out;
  append_fields(out, object, shape);
  return out;
}

// --- events

std::string event_bytes(const Value& event) {
  const proto::EventShape* shape = proto::find_event(event["type"].string());
  std::string base;
  std::string body;
  if (shape == nullptr) {
    shape = proto::find_event("RAW");
    append_enum(base, 1, shape->type_number);
    append_bytes(body, 1, base);
    append_bytes(body, 2, value_bytes(event));
  } else {
    append_enum(base, 1, shape->type_number);
    append_fields(base, event, proto::base_shape());
    append_bytes(body, 1, base);
    append_fields(body, event, *shape->shape);
  }
  std::string out;
  append_bytes(out, shape->field, body);
  return out;
}

void append_frame(std::string& out, std::string_view bytes) {
  for (int shift = 24; shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>((bytes.size() >> static_cast<unsigned>(shift)) & 0xff));
  }
  out.append(bytes);
}

// --- the header `Accept`

// The weight of a media range that is named; nothing where it is not.
std::optional<double> weight_of(std::string_view accept, std::string_view type) {
  std::optional<double> weight;
  while (!accept.empty()) {
    const std::size_t comma = std::min(accept.find(','), accept.size());
    std::string_view range = accept.substr(0, comma);
    accept.remove_prefix(std::min(comma + 1, accept.size()));
    const std::size_t end = std::min(range.find(';'), range.size());
    if (!equal_ignoring_case(json::trim(range.substr(0, end)), type)) continue;
    double q = 1;
    const std::size_t at = range.find("q=", end);
    if (at != std::string_view::npos) {
      const char* const last = range.data() + range.size();
      if (read_float(range.data() + at + 2, last, q).ec != std::errc()) q = 0;
    }
    weight = std::max(weight.value_or(0), q);
  }
  return weight;
}

}  // namespace

bool wants_ag_ui_proto(std::string_view accept, std::string_view client_version) {
  const double wish = weight_of(accept, ag_ui_proto_type).value_or(0);
  return wish > 0 && wish >= weight_of(accept, "text/event-stream").value_or(0) &&
         is_modern_client(client_version);
}

void append_ag_ui_proto(std::string& out, std::string_view frames) {
  constexpr std::string_view mark = "data: ";
  json::Document document(json::data_depth_limit);
  while (!frames.empty()) {
    const std::size_t end = std::min(frames.find('\n'), frames.size());
    const std::string_view line = frames.substr(0, end);
    frames.remove_prefix(std::min(end + 1, frames.size()));
    if (!line.starts_with(mark)) continue;
    const auto event = document.parse(line.substr(mark.size()));
    if (event) append_frame(out, event_bytes(event.value()));
  }
}

std::string ag_ui_proto_keep_alive() {
  std::string frame;
  append_ag_ui_proto(frame, R"(data: {"type":"CUSTOM","name":"millrace.keep_alive","value":null})"
                            "\n");
  return frame;
}

}  // namespace millrace::encoder
