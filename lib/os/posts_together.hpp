// Many posts of one thread that wake a loop once.
#pragma once

#include <functional>
#include <vector>

namespace millrace::os {

// While one is there, what its thread posts to other threads' loops wakes them at its end: a loop
// that woke for the first would be woken again for others, and meet the poster at its lock.
class PostsTogether {
 public:
  PostsTogether();
  ~PostsTogether();
  PostsTogether(const PostsTogether&) = delete;
  PostsTogether& operator=(const PostsTogether&) = delete;

 private:
  std::vector<std::function<void()>> rings_;
};

}  // namespace millrace::os
