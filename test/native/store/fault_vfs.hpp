// A file system in memory for SQLite, where the power can fail and calls can.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace millrace::store {

// Thread: one.
class FaultVfs {
 public:
  FaultVfs();
  ~FaultVfs();
  FaultVfs(const FaultVfs&) = delete;
  FaultVfs& operator=(const FaultVfs&) = delete;

  [[nodiscard]] std::string name() const { return name_; }
  // Writes, truncations, syncs and locks so far; locks alone.
  [[nodiscard]] int operations() const { return operations_; }
  [[nodiscard]] int locks() const { return locks_; }
  // Files opened so far.
  int opens = 0;
  struct File;
  // The operation of this number fails with `code`, once; 0 is none. A lock fails with SQLITE_BUSY
  // or an error of its own.
  void fail_at(int operation, int code) {
    fail_at_ = operation;
    fail_code_ = code;
  }
  // Every write fails with SQLITE_FULL.
  void set_full(bool is_full) { is_full_ = is_full; }
  // All files together may have so many bytes; what would make them more fails with SQLITE_FULL.
  void set_room(std::size_t bytes) { room_ = bytes; }
  [[nodiscard]] std::size_t bytes() const;
  [[nodiscard]] bool has_room_for(const File& file, std::size_t size) const;
  // From this operation on there is no power: everything fails.
  void cut_at(int operation) { cut_at_ = operation; }
  // Power again: of what was not synced, some sectors of 512 bytes are there and some are not.
  void restart(std::uint32_t seed);

  // One file; for the functions that SQLite calls.
  struct Change {
    std::int64_t offset = 0;
    std::string bytes;
    bool is_truncation = false;  // to `offset`
  };
  struct File {
    std::string durable;
    std::string content;
    std::vector<Change> unsynced;
    std::vector<std::vector<char>> shared;  // memory that connections share
  };
  // SQLITE_OK, or what the next operation fails with.
  int count();
  int count_lock();
  [[nodiscard]] bool is_cut() const { return cut_at_ != 0 && operations_ >= cut_at_; }
  std::map<std::string, File> files;
  sqlite3_vfs* system = nullptr;

 private:
  std::string name_;
  sqlite3_vfs vfs_{};
  int operations_ = 0;
  int locks_ = 0;
  int fail_at_ = 0;
  int fail_code_ = 0;
  int cut_at_ = 0;
  bool is_full_ = false;
  std::size_t room_ = SIZE_MAX;
};

}  // namespace millrace::store
