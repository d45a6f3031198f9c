// JSON Patch on a tree: the rules of RFC 6902, its examples, and that a patch is all or nothing.

#include "base/json_tree.hpp"

#include <gtest/gtest.h>

using namespace millrace;

namespace {

json::Tree tree_of(const std::string& text) {
  json::Document document;
  const auto value = document.parse(text);
  EXPECT_TRUE(value.ok()) << text;
  return json::Tree(value.value());
}

std::string text_of(const json::Tree& tree) {
  std::string text;
  tree.write(text, json::Surrogates::keep);
  return text;
}

// The value after the patch, or "refused" when the patch changed nothing and failed.
std::string patched(const std::string& text, const std::string& patch) {
  json::Tree tree = tree_of(text);
  json::Document document;
  const auto operations = document.parse(patch);
  EXPECT_TRUE(operations.ok()) << patch;
  if (tree.patch(operations.value())) return text_of(tree);
  EXPECT_EQ(text_of(tree), text) << "a failed patch must change nothing";
  return "refused";
}

}  // namespace

struct PatchRow {
  const char* name;
  const char* before;
  const char* patch;
  const char* after;
};

class JsonPatch : public testing::TestWithParam<PatchRow> {};

TEST_P(JsonPatch, GivesTheExpectedValue) {
  const PatchRow& row = GetParam();
  EXPECT_EQ(patched(row.before, row.patch), row.after);
}

const PatchRow patch_rows[] = {
    {"AddsAMember", R"({"a":1})", R"([{"op":"add","path":"/b","value":[2.50]}])",
     R"({"a":1,"b":[2.50]})"},
    {"AddsOverAMember", R"({"a":1,"b":2})", R"([{"op":"add","path":"/a","value":null}])",
     R"({"a":null,"b":2})"},
    {"AddsAnElement", "[1,2]", R"([{"op":"add","path":"/1","value":9}])", "[1,9,2]"},
    {"AddsAtTheEnd", "[1]",
     R"([{"op":"add","path":"/-","value":2},{"op":"add","path":"/2","value":3}])", "[1,2,3]"},
    {"AddsTheWhole", "[1]", R"([{"op":"add","path":"","value":{"x":[]}}])", R"({"x":[]})"},
    {"RefusesAGapInAnArray", "[1]", R"([{"op":"add","path":"/3","value":2}])", "refused"},
    {"RefusesAMissingParent", "{}", R"([{"op":"add","path":"/a/b","value":1}])", "refused"},
    {"RefusesAnIndexWithLeadingZero", "[1,2]", R"([{"op":"remove","path":"/01"}])", "refused"},
    {"RefusesASignedIndex", "[1,2]", R"([{"op":"remove","path":"/-1"}])", "refused"},
    {"RefusesToAddNothing", "{}", R"([{"op":"add","path":"/a"}])", "refused"},
    {"Removes", R"({"a":1,"b":[1,2]})",
     R"([{"op":"remove","path":"/a"},{"op":"remove","path":"/b/0"}])", R"({"b":[2]})"},
    {"RefusesToRemoveNothing", R"({"a":1})", R"([{"op":"remove","path":"/b"}])", "refused"},
    {"RefusesToRemoveTheWhole", R"({"a":1})", R"([{"op":"remove","path":""}])", "refused"},
    {"Replaces", R"({"a":[1]})", R"([{"op":"replace","path":"/a/0","value":"x"}])",
     R"({"a":["x"]})"},
    {"RefusesToReplaceNothing", "{}", R"([{"op":"replace","path":"/a","value":1}])", "refused"},
    {"Moves", R"({"a":{"x":1},"b":{}})", R"([{"op":"move","from":"/a/x","path":"/b/y"}])",
     R"({"a":{},"b":{"y":1}})"},
    {"MovesInAnArray", "[1,2,3]", R"([{"op":"move","from":"/0","path":"/2"}])", "[2,3,1]"},
    {"RefusesToMoveIntoItself", R"({"a":{"b":1}})", R"([{"op":"move","from":"/a","path":"/a/b"}])",
     "refused"},
    {"RefusesToMoveNowhere", R"({"b":1,"a":[1,2]})",
     R"([{"op":"move","from":"/a/0","path":"/c/d"}])", "refused"},
    {"Copies", R"({"a":[1]})", R"([{"op":"copy","from":"/a","path":"/b"}])",
     R"({"a":[1],"b":[1]})"},
    {"TestsByValue", R"({"a":{"x":1.0,"y":"s"}})",
     R"([{"op":"test","path":"/a","value":{"y":"s","x":1}}])", R"({"a":{"x":1.0,"y":"s"}})"},
    {"RefusesWhenATestFails", R"({"a":1})",
     R"([{"op":"replace","path":"/a","value":2},{"op":"test","path":"/a","value":"2"}])",
     "refused"},
    {"UndoesEarlierOperations", R"({"a":1,"b":2})",
     R"([{"op":"remove","path":"/a"},{"op":"remove","path":"/a"}])", "refused"},
    {"UnescapesPointers", R"({"a/b":1,"m~n":2,"":3})",
     R"([{"op":"remove","path":"/a~1b"},{"op":"remove","path":"/m~0n"},{"op":"remove","path":"/"}])",
     "{}"},
    {"RefusesABadEscape", R"({"~2":1})", R"([{"op":"remove","path":"/~2"}])", "refused"},
    {"RefusesAPointerWithoutSlash", R"({"a":1})", R"([{"op":"remove","path":"a"}])", "refused"},
    {"RefusesAnUnknownOperation", "{}", R"([{"op":"merge","path":"/a","value":1}])", "refused"},
    {"RefusesAPatchThatIsNoArray", "{}", R"({"op":"add","path":"/a","value":1})", "refused"},
    {"TakesAnEmptyPatch", R"({"a":1})", "[]", R"({"a":1})"},
    {"KeepsLoneSurrogates", R"({"a":"\ud800"})", R"([{"op":"copy","from":"/a","path":"/b"}])",
     R"({"a":"\ud800","b":"\ud800"})"},
};

INSTANTIATE_TEST_SUITE_P(Rows, JsonPatch, testing::ValuesIn(patch_rows),
                         [](const testing::TestParamInfo<PatchRow>& row) {
                           return row.param.name;
                         });

TEST(JsonTree, CannotGrowWithoutBoundByCopies) {
  std::string patch = "[";
  for (int i = 0; i < 600; ++i) patch += R"({"op":"copy","from":"","path":"/a"},)";
  patch.back() = ']';
  EXPECT_EQ(patched(R"({"a":[1]})", patch), "refused")
      << "nested deeper than the limit or too large";
  patch = "[";
  for (int i = 0; i < 64; ++i) patch += R"({"op":"copy","from":"/a","path":"/a/-"},)";
  patch.back() = ']';
  EXPECT_EQ(patched(R"({"a":[1]})", patch), "refused");
}

TEST(JsonTree, WritesWhatItRead) {
  const std::string text = R"({"b":[null,true,false,-0,1.50,"\u0001\ud800"],"a":{"":{}}})";
  EXPECT_EQ(text_of(tree_of(text)), text);
}

TEST(JsonTree, CopiesChangeAlone) {
  json::Tree first = tree_of(R"({"a":{"b":[1]},"c":"x"})");
  const json::Tree second = first;
  first.at("a").at("b").push(json::Tree::integer(2));
  first.set("c", "y");
  json::Tree third = first;
  for (auto& [key, value] : third.members()) value = json::Tree();
  third.erase("a");
  EXPECT_EQ(text_of(first), R"({"a":{"b":[1,2]},"c":"y"})");
  EXPECT_EQ(text_of(second), R"({"a":{"b":[1]},"c":"x"})");
  EXPECT_EQ(text_of(third), R"({"c":null})");
}

// Short texts stay in the value, longer ones are shared: what is read must not tell.
TEST(JsonTree, KeepsTextsOfEveryLength) {
  json::Tree all = json::Tree::object();
  std::string expected = "{";
  for (std::size_t length = 0; length < 40; ++length) {
    const std::string text(length, 'x');
    all.set("k" + text, text);
    expected += "\"k" + text + "\":\"" + text + "\",";
  }
  expected.back() = '}';
  json::Tree copy = all;
  json::Tree moved = std::move(all);
  all = json::Tree::text("other");
  EXPECT_EQ(text_of(copy), expected);
  EXPECT_EQ(text_of(moved), expected);
  EXPECT_EQ(copy, moved);
  copy.set("k" + std::string(20, 'x'), json::Tree::text(std::string(21, 'y')));
  EXPECT_EQ(moved["k" + std::string(20, 'x')].string(), std::string(20, 'x'));
  EXPECT_FALSE(copy == moved);
}

TEST(JsonTree, FindsNamesOfEveryLength) {
  json::Tree value = json::Tree::object();
  std::string name;
  for (int size = 0; size < 24; ++size, name.push_back('a'))
    value.set(name, json::Tree::integer(size));
  name.clear();
  for (int size = 0; size < 24; ++size, name.push_back('a')) {
    EXPECT_EQ(value[name].integer_or(-1), size);
    ASSERT_NE(value.find(name), nullptr);
    EXPECT_EQ(value.find(name + "b"), nullptr);
    EXPECT_TRUE(value["b" + name].is_null());
  }
  EXPECT_EQ(value[""].integer_or(-1), 0);
  EXPECT_EQ(value["a"].integer_or(-1), 1);
  EXPECT_EQ(value["aaaaaaaa"].integer_or(-1), 8);
  EXPECT_EQ(value["aaaaaaaaaaaaaa"].integer_or(-1), 14);
  EXPECT_EQ(value["aaaaaaaaaaaaaaa"].integer_or(-1), 15);
  EXPECT_TRUE(value["aaaaaaab"].is_null());
  EXPECT_TRUE(value["aaaaaaaaaaaaab"].is_null());
  EXPECT_TRUE(json::Tree::text("aaaa")["aaaa"].is_null());
  value.erase("aaaaaaaa");
  value.erase("aaaaaaaaaaaaaaaa");
  EXPECT_EQ(value.members().size(), 22U);
}

TEST(JsonTree, TakesAPartOfItself) {
  json::Tree tree = tree_of(R"({"a":{"b":["a text that is too long to stay in its value"]}})");
  tree = std::move(tree.at("a"));
  EXPECT_EQ(text_of(tree), R"({"b":["a text that is too long to stay in its value"]})");
  tree = tree["b"].items().front();
  EXPECT_EQ(tree.string(), "a text that is too long to stay in its value");
  tree.set("again", tree);
  EXPECT_EQ(text_of(tree), R"({"again":"a text that is too long to stay in its value"})");
  // The name is one of those that move to make room.
  json::Tree named = tree_of(R"({"a":1})");
  named.set("b", json::Tree::integer(2));
  for (int i = 0; i < 9; ++i) named.set(std::string(named.members().back().first) + "b", tree);
  EXPECT_EQ(named.members().size(), 11U);
  EXPECT_EQ(named.members().back().first.view(), std::string(10, 'b'));
}

TEST(JsonTree, HasNeitherItemsNorMembersWhereItIsNeitherArrayNorObject) {
  json::Tree text = json::Tree::text("x");
  text.items().push_back(json::Tree::integer(1));
  EXPECT_TRUE(text.items().empty());
  EXPECT_EQ(text_of(text), "\"x\"");
  json::Tree object = tree_of(R"({"a":1})");
  EXPECT_TRUE(object.items().empty());
  EXPECT_EQ(text_of(object), R"({"a":1})");
}
