// Pages of a run in memory, which are in the store as well. Those that no reader takes for now may
// be let go, so that readers without room hold little together, however many they are.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <utility>

#include "store/types.hpp"

namespace millrace::run {

class HeldPages;

// What the readers of all runs have in memory together: a few reads on their way, and of the pages
// that no reader takes so many bytes. Beyond them those go that wait longest.
// Thread: engine thread.
class PageBudget {
 public:
  explicit PageBudget(std::size_t most = std::size_t{4} << 20U) : most_(most) {}

  // Units: bytes of pages that wait.
  [[nodiscard]] std::size_t waiting() const { return bytes_; }
  // Calls `begin` when it is its turn to read from the store; end_read follows each call.
  void begin_read(std::function<void()> begin);
  void end_read();

 private:
  friend class HeldPages;
  void take(std::size_t bytes);

  std::size_t reads_ = 0;
  std::deque<std::function<void()>> next_reads_;
  std::size_t most_;
  std::size_t bytes_ = 0;
  std::list<HeldPages*> waiting_;  // those that wait longest first
};

// Thread: engine thread.
class HeldPages {
 public:
  explicit HeldPages(std::shared_ptr<PageBudget> budget) : budget_(std::move(budget)) {}
  ~HeldPages() { wait(false); }
  HeldPages(const HeldPages&) = delete;
  HeldPages& operator=(const HeldPages&) = delete;

  [[nodiscard]] const std::deque<store::StoredPage>& pages() const { return pages_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  void push(store::StoredPage page);
  void pop();
  void clear();
  // No reader takes of them for now: they may be gone when one does.
  void wait(bool waits);

 private:
  std::shared_ptr<PageBudget> budget_;
  std::deque<store::StoredPage> pages_;
  std::size_t bytes_ = 0;
  std::list<HeldPages*>::iterator place_;  // where they wait
  bool waits_ = false;
};

}  // namespace millrace::run
