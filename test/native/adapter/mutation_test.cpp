// Nothing that a vendor sends is lost without a word: an unknown member in every object and a value
// of another type at every member show in the events, in the report or as an error.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <variant>
#include <vector>

#include "adapter/decoder.hpp"
#include "base/json_tree.hpp"
#include "made_streams.hpp"
#include "support/collect.hpp"

namespace millrace {
namespace {

using json::Tree;
using test::MadeStream;

using Step = std::variant<std::string, std::size_t>;
using Path = std::vector<Step>;

void collect(const Tree& value, Path& way, std::vector<Path>& paths) {
  paths.push_back(way);
  for (std::size_t at = 0; at < value.items().size(); ++at) {
    way.emplace_back(at);
    collect(value.items()[at], way, paths);
    way.pop_back();
  }
  for (const auto& [key, member] : value.members()) {
    way.emplace_back(std::string(key));
    collect(member, way, paths);
    way.pop_back();
  }
}

Tree& at(Tree& root, const Path& path) {
  Tree* value = &root;
  for (const Step& step : path) {
    const auto* key = std::get_if<std::string>(&step);
    value = key != nullptr ? value->find(*key) : &value->items()[std::get<std::size_t>(step)];
  }
  return *value;
}

// "choices[].delta"
std::string shown(const Path& path) {
  std::string text;
  for (const Step& step : path) {
    const auto* key = std::get_if<std::string>(&step);
    if (key != nullptr && !text.empty()) text.push_back('.');
    text.append(key != nullptr ? *key : "[]");
  }
  return text;
}

// The name of the member that a value is of, or is in the list of.
std::string member_of(const Path& path) {
  for (auto step = path.rbegin(); step != path.rend(); ++step) {
    if (const auto* key = std::get_if<std::string>(&*step)) return *key;
  }
  return {};
}

struct Outcome {
  std::string text;
  bool failed;
};

Outcome outcome_of(const MadeStream& stream, const std::vector<std::string>& records) {
  CountingIds ids("id-");
  test::Collector events;
  adapter::DecoderOptions options;
  options.details = true;
  options.logprobs = true;
  adapter::Decoder decoder(*adapter::find_wire(stream.wire), options, ids, events);
  EXPECT_TRUE(decoder.feed(test::made_body(stream, records)).ok());
  EXPECT_TRUE(decoder.finish().ok());
  const std::string text = events.text(true);
  return {text, text.find(R"("type":"RUN_ERROR")") != std::string::npos};
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Where a change shows nothing, and why that loses nothing.
struct Silent {
  std::string_view wire;
  std::string_view place;  // a type or event of a record, and a path in it; * for whatever follows
  std::string_view reason;
};
constexpr std::array silent_places{
    Silent{"anthropic", "content_block_start content_block.input",
           "the deltas have the whole of it"},
    Silent{"gemini_interactions", "step.start step.arguments", "the deltas have the whole of it"},
    Silent{"openai_responses", "response.reasoning_summary_part.added part", "so has the item"},
    Silent{"openai_responses", "response.content_part.added part", "so has the item"},
    Silent{"openai_responses", "response.output_item.added item.content", "so has its end"},
    Silent{"openai_responses", "response.output_item.done item.content",
           "a text is a content, whose words came before"},
    Silent{"openai_responses", "response.output_item.done item.content[].annotations[]*",
           "an event of its own had it"},
    Silent{"langgraph", "messages [].tags[]", "the reader has the run"},
    Silent{"langgraph", "messages [].tool_call_chunks[].index", "a text may count as well"},
};

bool may_be_silent(std::string_view wire, const std::string& place) {
  return std::any_of(silent_places.begin(), silent_places.end(), [&](const Silent& row) {
    if (row.wire != wire) return false;
    if (!row.place.ends_with('*')) return row.place == place;
    return place.starts_with(row.place.substr(0, row.place.size() - 1));
  });
}

std::string kind_of(const MadeStream& stream, std::size_t record, const Tree& value) {
  for (const std::string_view member : {"type", "event_type"}) {
    if (const Tree* type = value.find(member)) return std::string(type->string());
  }
  return std::string(stream.records[record].event);
}

// Gives each record in turn with each of its values.
template <class Try>
void for_each_value(const MadeStream& stream, const Try& attempt) {
  std::vector<std::string> records;
  for (const test::MadeRecord& record : stream.records) records.emplace_back(record.json);
  const Outcome usual = outcome_of(stream, records);
  EXPECT_FALSE(usual.failed) << stream.wire << "\n" << usual.text;
  EXPECT_FALSE(has(usual.text, "unknownMembers") || has(usual.text, "wrongTypes")) << usual.text;
  for (std::size_t record = 0; record < records.size(); ++record) {
    const Tree whole = Tree::parse(records[record]).value();
    std::vector<Path> paths;
    Path way;
    collect(whole, way, paths);
    for (const Path& path : paths) {
      const std::string place = kind_of(stream, record, whole) + " " + shown(path);
      attempt(place, path, whole, [&](const Tree& changed) {
        std::vector<std::string> others = records;
        others[record] = changed.to_json();
        return outcome_of(stream, others);
      });
    }
  }
}

// Values of other types than this one, each with `marker` in it.
std::vector<Tree> other_types(const Tree& value, const std::string& marker) {
  Tree object = Tree::object();
  object.set("zz", marker);
  Tree list = Tree::array();
  list.push(Tree::text(marker));
  if (value.is_string()) return {Tree::number(std::stod(marker)), object, list};
  if (value.is_number()) return {Tree::text(marker), object};
  if (value.is_array()) return {Tree::text(marker), object};
  if (value.is_object()) return {Tree::text(marker), list};
  return {value.is_null() ? object : Tree::text(marker)};
}

bool is_named(const Outcome& outcome, const std::string& member) {
  if (member.empty()) return has(outcome.text, "\"stream.record\"");
  // An object may be what its list has one of: then its own member is unknown.
  if (has(outcome.text, member + ".zz\"")) return true;
  return has(outcome.text, "." + member + "\"") || has(outcome.text, "." + member + "[]\"");
}

}  // namespace

TEST(Mutations, UnknownMembersShow) {
  std::size_t tried = 0;
  for (const MadeStream& stream : test::made_streams()) {
    for_each_value(stream, [&](const std::string& place, const Path& path, const Tree& whole,
                               const auto& run) {
      Tree changed = whole;
      Tree& object = at(changed, path);
      if (!object.is_object() || may_be_silent(stream.wire, place)) return;
      ++tried;
      object.set("zqmember", "zqvalue");
      const Outcome outcome = run(changed);
      EXPECT_TRUE(has(outcome.text, "zqmember") || has(outcome.text, "zqvalue"))
          << stream.wire << " " << place;
    });
  }
  EXPECT_GT(tried, 200U);
}

TEST(Mutations, WrongTypesShow) {
  std::size_t tried = 0;
  for (const MadeStream& stream : test::made_streams()) {
    for_each_value(stream, [&](const std::string& place, const Path& path, const Tree& whole,
                               const auto& run) {
      if (path.empty() || may_be_silent(stream.wire, place)) return;
      const std::string marker = std::to_string(700000000 + ++tried);
      Tree original = whole;
      for (const Tree& value : other_types(at(original, path), marker)) {
        Tree changed = whole;
        at(changed, path) = value;
        const Outcome outcome = run(changed);
        EXPECT_TRUE(outcome.failed || has(outcome.text, marker) ||
                    is_named(outcome, member_of(path)))
            << stream.wire << " " << place << " " << value.to_json();
      }
    });
  }
  EXPECT_GT(tried, 500U);
}

}  // namespace millrace
