// A conversation that several readers hold. It is read in place; code that changes it has a copy of
// their own from then on.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "message/message.hpp"

namespace millrace::message {

// Thread: copies may be used by different threads, one copy by one at a time.
class SharedMessages {
 public:
  SharedMessages() = default;
  SharedMessages(Messages list) : cell_(new Cell{{1}, std::move(list)}) {}
  SharedMessages(const SharedMessages& other) noexcept : cell_(other.cell_) {
    if (cell_ != nullptr) cell_->shares.fetch_add(1, std::memory_order_relaxed);
  }
  SharedMessages(SharedMessages&& other) noexcept : cell_(std::exchange(other.cell_, nullptr)) {}
  SharedMessages& operator=(SharedMessages other) noexcept {
    std::swap(cell_, other.cell_);
    return *this;
  }
  ~SharedMessages() {
    if (cell_ == nullptr || cell_->shares.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    delete cell_;
  }

  // Lifetime: until the next edit().
  [[nodiscard]] const Messages& list() const {
    // Never destroyed: at the end of a process the engine's thread may still read it.
    static const Messages& none = *new Messages;
    return cell_ == nullptr ? none : cell_->list;
  }
  operator const Messages&() const { return list(); }
  [[nodiscard]] Messages::const_iterator begin() const { return list().begin(); }
  [[nodiscard]] Messages::const_iterator end() const { return list().end(); }
  [[nodiscard]] std::size_t size() const { return list().size(); }
  [[nodiscard]] bool empty() const { return list().empty(); }
  const Message& operator[](std::size_t at) const { return list()[at]; }

  // The list, to change it.
  // Lifetime: until it is copied.
  Messages& edit() {
    if (cell_ == nullptr || cell_->shares.load(std::memory_order_acquire) != 1) {
      *this = SharedMessages(list());
    }
    return cell_->list;
  }

 private:
  struct Cell {
    std::atomic<std::uint32_t> shares;
    Messages list;
  };

  Cell* cell_ = nullptr;
};

}  // namespace millrace::message
