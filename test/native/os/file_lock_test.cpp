// A file lock has one holder, who is known by name.

#include "os/file_lock.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <string>
#include <utility>

#include "os/file_place.hpp"

namespace millrace::os {
namespace {

constexpr std::chrono::milliseconds at_once{0};

TEST(FileLock, HasOneHolderAlsoWithinAProcess) {
  const std::string path = testing::TempDir() + "millrace-lock-" + std::to_string(::getpid());
  {
    auto first = FileLock::take(path, at_once);
    ASSERT_TRUE(first.ok());
    EXPECT_TRUE(first.value().is_held());
    auto second = FileLock::take(path, at_once);
    ASSERT_TRUE(second.ok());
    EXPECT_FALSE(second.value().is_held());
    EXPECT_EQ(second.value().holder(), std::to_string(::getpid()));
    const FileLock moved = std::move(first).value();
    auto third = FileLock::take(path, std::chrono::milliseconds(30));
    EXPECT_FALSE(third.value().is_held());
  }
  EXPECT_TRUE(FileLock::take(path, at_once).value().is_held());
  std::filesystem::remove(path);
}

TEST(FileLock, NeedsAFolder) {
  const auto lock = FileLock::take("/nowhere/at/all", at_once);
  ASSERT_FALSE(lock.ok());
  EXPECT_EQ(lock.error().code, Errc::store_failed);
}

TEST(FilePlace, KnowsAFileByMoreThanItsName) {
  const std::string path = testing::TempDir() + "millrace-place-" + std::to_string(::getpid());
  EXPECT_EQ(place_of(path).links, 0U);
  EXPECT_FALSE(place_of(path).is_same_file(place_of(path)));
  { const auto lock = FileLock::take(path, at_once); }
  const FilePlace place = place_of(path);
  EXPECT_EQ(place.links, 1U);
  EXPECT_TRUE(place.is_same_file(place_of(path)));
  EXPECT_FALSE(place.is_same_file(place_of("/")));
  EXPECT_EQ(network_file_system("/nowhere/at/all"), "");
  std::filesystem::remove(path);
}

TEST(FilePlace, KnowsToTheNanosecondWhenAFileWasChanged) {
  const std::string path = testing::TempDir() + "millrace-changed-" + std::to_string(::getpid());
  { const auto lock = FileLock::take(path, at_once); }
  const std::array<timespec, 2> times{{{1, 0}, {1'700'000'000, 123'456'789}}};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times.data(), 0), 0);
  struct stat found {};
  ASSERT_EQ(::stat(path.c_str(), &found), 0);
  EXPECT_EQ(changed_ns(found), 1'700'000'000'123'456'789);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace millrace::os
