// A value whose copies share memory until one of them changes.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace millrace {

// Thread: copies may be used by different threads, one copy by one at a time.
template <class T>
class SharedCopy {
 public:
  SharedCopy() = default;
  SharedCopy(const SharedCopy& other) : cell_(other.cell_) {
    if (cell_ != nullptr) cell_->shares.fetch_add(1, std::memory_order_relaxed);
  }
  SharedCopy(SharedCopy&& other) noexcept : cell_(std::exchange(other.cell_, nullptr)) {}
  SharedCopy& operator=(SharedCopy other) noexcept {
    std::swap(cell_, other.cell_);
    return *this;
  }
  ~SharedCopy() {
    if (cell_ != nullptr && cell_->shares.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      delete cell_;
    }
  }

  // Lifetime: until this copy changes or ends.
  [[nodiscard]] const T& get() const {
    static const T none;
    return cell_ == nullptr ? none : cell_->value;
  }
  // The value of this copy alone.
  // Lifetime: until this copy is copied, changes or ends.
  [[nodiscard]] T& edit() {
    if (cell_ == nullptr) {
      cell_ = new Cell;
    } else if (cell_->shares.load(std::memory_order_acquire) != 1) {
      SharedCopy own;
      own.cell_ = new Cell(cell_->value);
      std::swap(cell_, own.cell_);
    }
    return cell_->value;
  }
  [[nodiscard]] bool shares_with(const SharedCopy& other) const { return cell_ == other.cell_; }

 private:
  struct Cell {
    Cell() = default;
    explicit Cell(const T& given) : value(given) {}
    std::atomic<std::uint32_t> shares{1};
    T value;
  };
  Cell* cell_ = nullptr;
};

}  // namespace millrace
