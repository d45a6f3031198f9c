#include "message/client_items.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "base/json.hpp"
#include "base/shown.hpp"
#include "message/parts.hpp"

namespace millrace::message {
namespace {

using Names = std::span<const std::string_view>;
constexpr auto keep = json::Surrogates::keep;

// What a member may be. Each may be null, but a word.
enum class Kind : std::uint8_t {
  text,
  number,
  word,      // one of a few, without which its object has no meaning
  texts,     // a list of them
  text_map,  // an object of them, whatever their keys
  object,
  objects,
  shown,  // what the message itself shows: a state need not say it again
};

struct Field {
  std::string_view name;
  Kind kind = Kind::text;
  Names words = {};
  std::span<const Field> fields = {};
};
using Fields = std::span<const Field>;

constexpr std::array<std::string_view, 4> statuses{"in_progress", "completed", "incomplete",
                                                   "failed"};
constexpr std::array<std::string_view, 1> direct{"direct"};
constexpr std::array<std::string_view, 2> screenshots{"computer_screenshot", "input_image"};

// A program of the vendor's that made the call is a stored item, which no client names.
constexpr std::array caller{Field{"type", Kind::word, direct}};

constexpr std::array call_state{
    Field{"type"},
    Field{"id"},
    Field{"status", Kind::word, statuses},
    Field{"caller", Kind::object, {}, caller},
    Field{"call_id", Kind::shown},
    Field{"action", Kind::shown},
    Field{"actions", Kind::shown},
    Field{"operation", Kind::shown},
};
constexpr std::array output_state{
    Field{"type"},
    Field{"id"},
    Field{"status", Kind::word, statuses},
    Field{"caller", Kind::object, {}, caller},
    Field{"call_id", Kind::shown},
    Field{"output", Kind::shown},
};
constexpr std::array shell_output_state{
    Field{"type"},
    Field{"id"},
    Field{"status", Kind::word, statuses},
    Field{"caller", Kind::object, {}, caller},
    Field{"call_id", Kind::shown},
    Field{"output", Kind::shown},
    Field{"max_output_length", Kind::number},
};

constexpr std::array point{Field{"x", Kind::number}, Field{"y", Kind::number}};
constexpr std::array action{
    Field{"type"},
    Field{"button"},
    Field{"x", Kind::number},
    Field{"y", Kind::number},
    Field{"scroll_x", Kind::number},
    Field{"scroll_y", Kind::number},
    Field{"text"},
    Field{"keys", Kind::texts},
    Field{"path", Kind::objects, {}, point},
};
// One action, or a list of them.
constexpr std::array computer_arguments{
    Field{"type"},
    Field{"button"},
    Field{"x", Kind::number},
    Field{"y", Kind::number},
    Field{"scroll_x", Kind::number},
    Field{"scroll_y", Kind::number},
    Field{"text"},
    Field{"keys", Kind::texts},
    Field{"path", Kind::objects, {}, point},
    Field{"actions", Kind::objects, {}, action},
};
constexpr std::array shell_arguments{
    Field{"commands", Kind::texts},
    Field{"timeout_ms", Kind::number},
    Field{"max_output_length", Kind::number},
};
constexpr std::array local_shell_arguments{
    Field{"type"},
    Field{"command", Kind::texts},
    Field{"env", Kind::text_map},
    Field{"timeout_ms", Kind::number},
    Field{"user"},
    Field{"working_directory"},
};
constexpr std::array patch_arguments{Field{"type"}, Field{"path"}, Field{"diff"}};

constexpr std::array screenshot{Field{"type", Kind::word, screenshots}, Field{"image_url"}};
constexpr std::array outcome{Field{"type"}, Field{"exit_code", Kind::number}};
constexpr std::array shell_result{
    Field{"stdout"},
    Field{"stderr"},
    Field{"outcome", Kind::object, {}, outcome},
};

}  // namespace

struct ClientItem {
  std::string_view call;
  std::string_view output;
  Fields arguments;
  Fields output_state;
  Kind result_kind = Kind::text;  // of JSON that a result may be
  Fields result = {};
};

namespace {

constexpr std::array items{
    ClientItem{"computer_call", "computer_call_output", computer_arguments, output_state,
               Kind::object, screenshot},
    ClientItem{"shell_call", "shell_call_output", shell_arguments, shell_output_state,
               Kind::objects, shell_result},
    ClientItem{"local_shell_call", "local_shell_call_output", local_shell_arguments, output_state},
    ClientItem{"apply_patch_call", "apply_patch_call_output", patch_arguments, output_state},
};

bool is_word_of(Names names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// A value without content is left out without a name.
bool is_blank(const json::Value& value) {
  const bool is_list = value.is_array() || value.is_object();
  return value.is_nothing() || (is_list && value.size() == 0);
}

// Writes what the fields allow of a value, and names the rest.
class Trimmer {
 public:
  Trimmer(std::string_view type, Withheld& withheld) : path_(type), withheld_(withheld) {}

  // False where the value is none of the field; then it wrote nothing.
  bool write(std::string& out, const json::Value& value, const Field& field) {
    switch (field.kind) {
      case Kind::text: return write_if(out, value, value.is_string() || value.is_null());
      case Kind::number: return write_if(out, value, value.is_number() || value.is_null());
      case Kind::word: return write_if(out, value, is_word_of(field.words, value.string()));
      case Kind::texts: return write_if(out, value, are_texts(value));
      case Kind::text_map: return write_if(out, value, is_text_map(value));
      case Kind::object: return write_object(out, value, field.fields);
      case Kind::objects: return write_objects(out, value, field.fields);
      case Kind::shown: break;
    }
    return false;
  }

  bool write_object(std::string& out, const json::Value& value, Fields fields) {
    if (value.is_null()) return write_if(out, value, true);
    const Field& first = fields.front();
    // A word that comes first names what the object is.
    const bool is_named =
        first.kind != Kind::word || is_word_of(first.words, value[first.name].string());
    if (!value.is_object() || !is_named) return false;
    std::string made = "{";
    for (const Field& field : fields) {
      const json::Value member = value[field.name];
      if (member.exists() && field.kind != Kind::shown) write_member(made, member, field);
    }
    for (const json::Member& member : value.members()) {
      const bool is_field = std::any_of(fields.begin(), fields.end(),
                                        [&](const Field& f) { return f.name == member.key; });
      if (!is_field && !is_blank(member.value)) withhold(member.key);
    }
    out.append(made).push_back('}');
    return true;
  }

  bool write_objects(std::string& out, const json::Value& value, Fields fields) {
    if (value.is_null()) return write_if(out, value, true);
    if (!value.is_array()) return false;
    std::string made = "[";
    for (const json::Value item : value.items()) {
      if (made.size() > 1) made.push_back(',');
      if (!item.is_object() || !write_object(made, item, fields)) return false;
    }
    out.append(made).push_back(']');
    return true;
  }

  void withhold(std::string_view key) {
    withheld_.add(path_ + "." + std::string(key.substr(0, shown_bytes)));
  }

 private:
  static bool write_if(std::string& out, const json::Value& value, bool is_allowed) {
    if (is_allowed) value.write(out, keep);
    return is_allowed;
  }

  static bool are_texts(const json::Value& value) {
    if (!value.is_array()) return value.is_null();
    for (const json::Value item : value.items()) {
      if (!item.is_string()) return false;
    }
    return true;
  }

  static bool is_text_map(const json::Value& value) {
    if (!value.is_object()) return value.is_null();
    for (const auto& [key, item] : value.members()) {
      if (!item.is_string()) return false;
    }
    return true;
  }

  void write_member(std::string& made, const json::Value& member, const Field& field) {
    const std::size_t size = path_.size();
    std::string written;
    path_.append(".").append(field.name);
    const bool is_written = write(written, member, field);
    path_.resize(size);
    if (is_written) {
      json::append_raw_member(made, field.name, written);
    } else {
      withhold(field.name);
    }
  }

  std::string path_;
  Withheld& withheld_;
};

// A text that looks like a list of results is what a command wrote.
std::string shell_text(std::string_view text) {
  std::string out = R"([{)";
  json::append_member(out, "stdout", text, keep);
  return out.append(R"(,"stderr":"","outcome":{"type":"exit","exit_code":0}}])");
}

// An image by the id of a file is one of the account's.
void drop_files(Content& content, Trimmer& trimmer) {
  const Parts parts(content);
  std::string retained = "[";
  std::size_t dropped = 0;
  for (const json::Value part : parts.items()) {
    Media media;
    if (read_media(media, part) && media.source == Media::Source::file) {
      trimmer.withhold("file_id");
      ++dropped;
      continue;
    }
    if (retained.size() > 1) retained.push_back(',');
    part.write(retained, keep);
  }
  if (dropped > 0) content.text = retained + "]";
}

}  // namespace

void Withheld::add(std::string_view name) {
  constexpr std::size_t most = 512;  // bytes that a warning may take
  ++count;
  const std::string word = shown_text(name);
  if (names.size() > most || names.find(word) != std::string::npos) return;
  names.append(names.empty() ? "" : ", ").append(word);
}

const ClientItem* find_client_item(std::string_view type) {
  const auto* row = std::find_if(items.begin(), items.end(), [&](const ClientItem& item) {
    return item.call == type || item.output == type;
  });
  return row == items.end() ? nullptr : row;
}

bool trim_client_state(ProviderState& state, Withheld& withheld) {
  json::Document document(depth_limit);
  const auto value = document.parse(state.json);
  if (!value) return false;
  const std::string_view type = value.value()["type"].string();
  const ClientItem* item = find_client_item(type);
  if (item == nullptr) return false;
  std::string made;
  Trimmer trimmer(type, withheld);
  trimmer.write_object(made, value.value(), type == item->call ? call_state : item->output_state);
  state.json = std::move(made);
  return true;
}

void trim_client_arguments(std::string& arguments, const ClientItem& item, Withheld& withheld) {
  json::Document document(depth_limit);
  const auto value = document.parse(arguments);
  // What is no JSON is not sent.
  if (!value) return;
  std::string made;
  const std::size_t before = withheld.count;
  Trimmer trimmer(item.call, withheld);
  if (!trimmer.write_object(made, value.value(), item.arguments)) {
    trimmer.withhold("arguments");
    made = "{}";
  }
  if (withheld.count > before) arguments = std::move(made);
}

void trim_client_result(Content& content, const ClientItem& item, Withheld& withheld) {
  if (item.result.empty()) return;
  Trimmer trimmer(item.output, withheld);
  const bool is_image = item.result_kind == Kind::object;
  if (content.kind == Content::Kind::parts && is_image) return drop_files(content, trimmer);
  const std::string text = text_of(content);
  json::Document document(depth_limit);
  const auto value = document.parse(text);
  const bool is_result = value && (is_image ? value.value().is_object() : value.value().is_array());
  if (!is_result) return;
  const std::size_t before = withheld.count;
  std::string made;
  if (trimmer.write(made, value.value(), {"", item.result_kind, {}, item.result})) {
    if (withheld.count > before) content = Content::of_text(made);
  } else if (is_image) {
    content = Content::of_text("");
    trimmer.withhold("output");
  } else {
    content = Content::of_text(shell_text(text));
  }
}

}  // namespace millrace::message
