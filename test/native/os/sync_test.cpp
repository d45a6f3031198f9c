#include "os/sync.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include "os/descriptors.hpp"

namespace millrace::os {
namespace {

TEST(Sync, BringsAFileAndItsFolderToTheDisk) {
  const std::string folder =
      (std::filesystem::temp_directory_path() / "millrace-sync-XXXXXX").string();
  std::string made = folder;
  ASSERT_NE(::mkdtemp(made.data()), nullptr);
  const std::string path = made + "/file";
  std::ofstream(path) << "text";
  EXPECT_TRUE(sync_path(path, O_RDWR));
  EXPECT_TRUE(sync_path(made, O_RDONLY | O_DIRECTORY));
  std::filesystem::remove_all(made);
}

TEST(Sync, SaysThatItFailed) {
  EXPECT_FALSE(sync_path("/nowhere/file", O_RDONLY));
  EXPECT_EQ(errno, ENOENT);
  EXPECT_FALSE(sync_file(-1));
  EXPECT_EQ(errno, EBADF);
  // No disk is behind it.
  Pipe pipe;
  ASSERT_TRUE(open_pipe(pipe));
  EXPECT_FALSE(sync_file(pipe.write.get()));
}

}  // namespace
}  // namespace millrace::os
