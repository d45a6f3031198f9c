// States as changes of the state before.

#include "journal/checkpoint.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace millrace::journal {
namespace {

json::Tree parsed(std::string_view text) {
  auto tree = json::Tree::parse(text);
  EXPECT_TRUE(tree.ok()) << text;
  return std::move(tree).value();
}

void expect_step(std::string_view from, std::string_view to) {
  json::Tree state = parsed(from);
  const std::string delta = checkpoint_delta(state, parsed(to));
  const auto applied = apply_checkpoint(state, delta);
  ASSERT_TRUE(applied.ok()) << delta;
  EXPECT_EQ(state, parsed(to)) << delta;
}

TEST(Checkpoint, MakesTheStateBehindAChange) {
  expect_step("{}", "{}");
  expect_step("null", "[1]");
  expect_step(R"({"a":1,"b":[1,2,3],"c":{"d":null}})", R"({"b":[1,5],"c":{"d":{}},"e":"x"})");
  expect_step(R"({"v":1})", R"({"v":{"v":2},"m":[],"n":null})");
  expect_step("[]", "[[],[1],null]");
  expect_step(R"([{"id":1},{"id":2}])", R"([{"id":2}])");
  expect_step(R"({"n":12345678901234567890,"s":"\ud800"})", R"({"n":1,"s":"\udc00"})");
}

TEST(Checkpoint, HoldsOnlyWhatChanged) {
  json::Tree state = parsed(R"({"messages":[],"stepCount":0})");
  for (int row = 0; row < 200; ++row) {
    json::Tree message = json::Tree::object();
    message.set("id", "m" + std::to_string(row));
    message.set("content", std::string(500, 'x'));
    state.find("messages")->push(std::move(message));
  }
  json::Tree next = state;
  next.set("stepCount", json::Tree::integer(1));
  json::Tree message = json::Tree::object();
  message.set("id", "new");
  next.find("messages")->push(std::move(message));
  const std::string delta = checkpoint_delta(state, next);
  EXPECT_LT(delta.size(), 150U) << delta;
  ASSERT_TRUE(apply_checkpoint(state, delta).ok());
  EXPECT_EQ(state, next);
}

TEST(Checkpoint, RejectsAChangeOfAnotherState) {
  for (const char* delta : {"x", "[]", R"({"m":{"a":{"n":1,"i":[]}},"x":[]})",
                            R"({"n":4000000000,"i":[]})", R"({"n":1,"i":[[7,{"v":1}]]})",
                            R"({"n":-1,"i":[]})", R"({"n":1,"i":[[]]})", R"({"z":1})"}) {
    json::Tree state = parsed(R"({"a":1})");
    const auto applied = apply_checkpoint(state, delta);
    ASSERT_FALSE(applied.ok()) << delta;
    EXPECT_EQ(applied.error().code, Errc::store_damaged);
    json::Tree list = parsed("[1]");
    static_cast<void>(apply_checkpoint(list, delta));  // must not crash
  }
}

class RandomTree {
 public:
  explicit RandomTree(std::uint32_t seed) : random_(seed) {}
  json::Tree make(int depth) {
    switch (draw(depth > 0 ? 6U : 4U)) {
      case 0: return {};
      case 1: return json::Tree::integer(draw(5));
      case 2: return json::Tree::text("t" + std::to_string(draw(5)));
      case 3: return json::Tree::flag(draw(2) == 0);
      case 4: {
        json::Tree list = json::Tree::array();
        for (std::uint32_t left = draw(4); left > 0; --left) list.push(make(depth - 1));
        return list;
      }
      default: break;
    }
    json::Tree object = json::Tree::object();
    for (std::uint32_t left = draw(4); left > 0; --left) {
      object.set(std::string(1, "vmnix"[draw(5)]), make(depth - 1));
    }
    return object;
  }

 private:
  std::uint32_t draw(std::uint32_t below) {
    return std::uniform_int_distribution<std::uint32_t>(0, below - 1)(random_);
  }
  std::mt19937 random_;
};

TEST(Checkpoint, MakesEveryStateOfEveryOther) {
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomTree random(seed);
  for (int round = 0; round < 3000; ++round) {
    json::Tree before = random.make(9);
    const json::Tree after = random.make(9);
    const std::string delta = checkpoint_delta(before, after);
    ASSERT_TRUE(apply_checkpoint(before, delta).ok()) << delta;
    ASSERT_EQ(before, after) << delta;
  }
}

}  // namespace
}  // namespace millrace::journal
