// The shapes that the growth fuzzer begins with, and those that it found: none takes more than its
// size.
#include "growth_measure.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/source_folder.hpp"

namespace millrace {
namespace {

TEST(Growth, OfTimeIsThatOfTheText) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "The fuzzer measures it; here it would take minutes.";
#endif
  std::size_t shapes = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(test::source_folder() / "fuzz/seeds/growth_fuzzer")) {
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    const auto shape = json::Tree::parse(text.str());
    ASSERT_TRUE(shape.ok()) << entry.path();
    EXPECT_EQ(fuzz::excess_of(shape.value()), "") << entry.path().filename();
    ++shapes;
  }
  EXPECT_GT(shapes, 80U);
}

}  // namespace
}  // namespace millrace
