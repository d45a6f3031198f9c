#include "os/temporary_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <set>
#include <string>
#include <utility>

namespace millrace::os {
namespace {

std::string made_folder() {
  std::string folder = (std::filesystem::temp_directory_path() / "millrace-file-XXXXXX").string();
  return ::mkdtemp(folder.data()) == nullptr ? std::string() : folder;
}

std::set<int> open_descriptors() {
  std::set<int> open;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/fd")) {
    open.insert(std::stoi(entry.path().filename().string()));
  }
  // The one that the list itself was read by is free again.
  std::erase_if(open, [](int descriptor) { return fcntl(descriptor, F_GETFD) == -1; });
  return open;
}

TEST(TemporaryFile, IsReadAsItWasWritten) {
  const std::string folder = made_folder();
  ASSERT_FALSE(folder.empty());
  auto file = TemporaryFile::open(folder);
  ASSERT_TRUE(file);
  EXPECT_EQ(file.value().map().value(), "");
  const std::string piece(100'000, 'x');
  ASSERT_TRUE(file.value().append(piece));
  ASSERT_TRUE(file.value().append("end"));
  TemporaryFile moved = std::move(file.value());
  EXPECT_EQ(moved.map().value(), piece + "end");
  std::filesystem::remove_all(folder);
}

TEST(TemporaryFile, HasNoNameAndNoProgramInheritsIt) {
  const std::string folder = made_folder();
  ASSERT_FALSE(folder.empty());
  const std::set<int> before = open_descriptors();
  const auto file = TemporaryFile::open(folder);
  ASSERT_TRUE(file);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  int found = 0;
  for (const int descriptor : open_descriptors()) {
    if (before.contains(descriptor)) continue;
    EXPECT_EQ(fcntl(descriptor, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    ++found;
  }
  EXPECT_EQ(found, 1);
  std::filesystem::remove_all(folder);
}

TEST(TemporaryFile, SaysWhyItCannotBeMade) {
  const auto file = TemporaryFile::open("/nowhere/at/all");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, Errc::store_failed);
  EXPECT_NE(file.error().message.find("No such file"), std::string::npos);
}

}  // namespace
}  // namespace millrace::os
