#include "os/memory_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace millrace::os {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

TEST(MemoryFile, IsReadByItsPathAsOftenAsSomebodyLikes) {
  if (MILLRACE_PORTABLE) {
    EXPECT_FALSE(MemoryFile::make("test", "text"));
    return;
  }
  const std::string text(1'000'000, 'x');
  std::optional<MemoryFile> file = MemoryFile::make("test", text);
  ASSERT_TRUE(file);
  MemoryFile moved = std::move(*file);
  file.reset();
  EXPECT_EQ(text_of(moved.path()), text);
  EXPECT_EQ(text_of(moved.path()), text);
}

}  // namespace
}  // namespace millrace::os
