#include "os/descriptors.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>

#include <cerrno>
#include <string>
#include <utility>

namespace millrace::os {
namespace {

bool is_open(int fd) {
  return fcntl(fd, F_GETFD) != -1;
}
bool is_closed_on_exec(const Descriptor& fd) {
  return (fcntl(fd.get(), F_GETFD) & FD_CLOEXEC) != 0;
}
bool blocks(const Descriptor& fd) {
  return (fcntl(fd.get(), F_GETFL) & O_NONBLOCK) == 0;
}

TEST(Descriptors, ClosesWhatItOwnsAndNothingElse) {
  Pipe pipe;
  ASSERT_TRUE(open_pipe(pipe));
  const int read = pipe.read.get();
  const int write = pipe.write.get();
  {
    Descriptor taken = std::move(pipe.read);
    EXPECT_EQ(taken.get(), read);
    EXPECT_TRUE(is_open(read));
    taken = std::move(pipe.write);
    EXPECT_FALSE(is_open(read));
    EXPECT_TRUE(is_open(write));
    EXPECT_EQ(taken.release(), write);
  }
  EXPECT_TRUE(is_open(write));
  Descriptor(write).reset();
  EXPECT_FALSE(is_open(write));
}

TEST(Descriptors, OpensAPipeThatProgramsDoNotInherit) {
  Pipe pipe;
  ASSERT_TRUE(open_pipe(pipe));
  EXPECT_TRUE(is_closed_on_exec(pipe.read));
  EXPECT_TRUE(is_closed_on_exec(pipe.write));
  EXPECT_TRUE(blocks(pipe.read));
  EXPECT_TRUE(blocks(pipe.write));
  ASSERT_EQ(write(pipe.write.get(), "ab", 2), 2);
  std::string got(2, ' ');
  ASSERT_EQ(read(pipe.read.get(), got.data(), got.size()), 2);
  EXPECT_EQ(got, "ab");
}

TEST(Descriptors, AcceptsAConnectionThatProgramsDoNotInheritAndThatDoesNotBlock) {
  const Descriptor listener(open_socket(AF_INET, SOCK_STREAM, 0));
  ASSERT_GE(listener.get(), 0);
  EXPECT_TRUE(is_closed_on_exec(listener));
  EXPECT_TRUE(blocks(listener));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(listener.get(), generic, size), 0);
  ASSERT_EQ(listen(listener.get(), 1), 0);
  ASSERT_EQ(getsockname(listener.get(), generic, &size), 0);

  const Descriptor client(open_socket(AF_INET, SOCK_STREAM, 0));
  ASSERT_EQ(connect(client.get(), generic, size), 0);
  sockaddr_in from{};
  socklen_t from_size = sizeof from;
  const Descriptor accepted(
      accept_connection(listener.get(), reinterpret_cast<sockaddr*>(&from), &from_size));
  ASSERT_GE(accepted.get(), 0);
  EXPECT_TRUE(is_closed_on_exec(accepted));
  EXPECT_FALSE(blocks(accepted));
  ASSERT_EQ(getsockname(client.get(), generic, &size), 0);
  EXPECT_EQ(from_size, size);
  EXPECT_EQ(from.sin_port, address.sin_port);
  EXPECT_EQ(from.sin_addr.s_addr, htonl(INADDR_LOOPBACK));

  ASSERT_EQ(write(client.get(), "a", 1), 1);
  pollfd readable{accepted.get(), POLLIN, 0};
  ASSERT_EQ(poll(&readable, 1, 20'000), 1);
  char byte = 0;
  EXPECT_EQ(read(accepted.get(), &byte, 1), 1);
  EXPECT_EQ(byte, 'a');
}

TEST(Descriptors, SaysByErrnoWhyThereIsNone) {
  constexpr int no_family = 9999;
  errno = 0;
  EXPECT_EQ(open_socket(no_family, SOCK_STREAM, 0), -1);
  EXPECT_EQ(errno, EAFNOSUPPORT);
  const Descriptor unresponsive(open_socket(AF_INET, SOCK_STREAM, 0));
  EXPECT_EQ(accept_connection(unresponsive.get(), nullptr, nullptr), -1);
  EXPECT_EQ(errno, EINVAL);
}

}  // namespace
}  // namespace millrace::os
