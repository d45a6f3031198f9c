#include "store/sqlite/log_check.hpp"

#include <sqlite3.h>

#include <cstddef>
#include <vector>

namespace millrace::store::sqlite {
namespace {

// Source: "Database File Format" of SQLite, 4.1 and 4.2.
constexpr std::uint32_t magic_little_endian = 0x377f0682;
constexpr std::uint32_t magic_big_endian = 0x377f0683;
constexpr std::size_t log_head_size = 32;
constexpr std::size_t frame_head_size = 24;
constexpr std::size_t log_page_size = 4096;
constexpr std::size_t hashed_of_head = 24;
constexpr std::size_t hashed_of_frame_head = 8;
constexpr std::size_t log_page_size_at = 8;
constexpr std::size_t log_salts_at = 16;
constexpr std::size_t frame_commit_at = 4;  // pages of the file behind a commit, else 0
constexpr std::size_t frame_salts_at = 8;
constexpr std::size_t frame_sums_at = 16;

using LogBytes = std::vector<unsigned char>;

std::uint32_t big_endian_at(const LogBytes& bytes, std::size_t at) {
  return (std::uint32_t{bytes[at]} << 24U) | (std::uint32_t{bytes[at + 1]} << 16U) |
         (std::uint32_t{bytes[at + 2]} << 8U) | std::uint32_t{bytes[at + 3]};
}

std::uint32_t little_endian_at(const LogBytes& bytes, std::size_t at) {
  return (std::uint32_t{bytes[at + 3]} << 24U) | (std::uint32_t{bytes[at + 2]} << 16U) |
         (std::uint32_t{bytes[at + 1]} << 8U) | std::uint32_t{bytes[at]};
}

struct WordPair {
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  bool operator==(const WordPair&) const = default;
};

WordPair words_at(const LogBytes& bytes, std::size_t at) {
  return {big_endian_at(bytes, at), big_endian_at(bytes, at + 4)};
}

// The file of a log, as SQLite would open it.
class LogFile {
 public:
  LogFile(const std::string& path, const std::string& vfs)
      : vfs_(sqlite3_vfs_find(vfs.empty() ? nullptr : vfs.c_str())), name_(path) {
    if (vfs_ == nullptr) return;
    name_.append(4, '\0');  // no parameters follow the name
    memory_.resize(static_cast<std::size_t>(vfs_->szOsFile) / sizeof(std::max_align_t) + 1);
    int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_WAL;
    int found = 0;
    if (vfs_->xAccess(vfs_, name_.c_str(), SQLITE_ACCESS_EXISTS, &found) != SQLITE_OK) return;
    is_open_ = found != 0 && vfs_->xOpen(vfs_, name_.c_str(), file(), flags, &flags) == SQLITE_OK;
  }
  ~LogFile() {
    if (memory_.empty() || file()->pMethods == nullptr) return;
    file()->pMethods->xClose(file());
  }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  // False where the file does not have so many bytes there.
  bool read(LogBytes& into, std::size_t at) {
    return is_open_ && file()->pMethods->xRead(file(), into.data(), static_cast<int>(into.size()),
                                               static_cast<sqlite3_int64>(at)) == SQLITE_OK;
  }

 private:
  sqlite3_file* file() { return reinterpret_cast<sqlite3_file*>(memory_.data()); }

  sqlite3_vfs* vfs_;
  std::string name_;
  std::vector<std::max_align_t> memory_;
  bool is_open_ = false;
};

class LogReader {
 public:
  // What is behind its first damaged frame, if that is of more than one commit.
  std::optional<PassedOver> read(LogFile& file) {
    LogBytes header(log_head_size);
    if (!file.read(header, 0)) return std::nullopt;
    begin(header);
    LogBytes frame(frame_head_size + log_page_size);
    for (std::size_t at = log_head_size; file.read(frame, at); at += frame.size()) add(frame);
    if (!is_damaged_ || !is_followed_) return std::nullopt;
    found_.log = static_cast<std::int64_t>((std::uint64_t{salts_->first} << 32U) | salts_->second);
    return found_;
  }

 private:
  void begin(const LogBytes& header) {
    const std::uint32_t magic = big_endian_at(header, 0);
    is_big_endian_ = magic == magic_big_endian;
    before_ = words_at(header, hashed_of_head);
    const bool is_whole = (is_big_endian_ || magic == magic_little_endian) &&
                          big_endian_at(header, log_page_size_at) == log_page_size &&
                          sum({}, header, 0, hashed_of_head) == before_;
    if (is_whole) salts_ = words_at(header, log_salts_at);
    is_damaged_ = !is_whole;
  }

  void add(const LogBytes& frame) {
    ++number_;
    const WordPair salts = words_at(frame, frame_salts_at);
    // Without a header, the first frame is of the last use of the file.
    if (!salts_) salts_ = salts;
    const WordPair sums = words_at(frame, frame_sums_at);
    const bool fits = salts == *salts_ && sum(sum(before_, frame, 0, hashed_of_frame_head), frame,
                                              frame_head_size, frame.size()) == sums;
    before_ = sums;
    const bool is_commit = big_endian_at(frame, frame_commit_at) != 0;
    const std::uint32_t page = big_endian_at(frame, 0);
    if (!is_damaged_) {
      if (fits) return;
      is_damaged_ = true;
      found_.frame = number_;
      return;
    }
    // A frame that fits the one before it was written as a whole, and behind that one. What does
    // not fit may be what an earlier power cut left there, of a commit that was written over.
    if (!fits) {
      is_behind_commit_ = false;
      return;
    }
    // Its commit was begun behind a sync of the one before, so that this one had reached the disk.
    // The same page once more may only fill up a sector.
    const bool is_filling = is_behind_commit_ && page == committed_page_;
    if (is_filling) return;
    is_followed_ = is_followed_ || is_behind_commit_;
    is_behind_commit_ = is_commit;
    if (!is_commit) return;
    ++found_.commits;
    committed_page_ = page;
  }

  [[nodiscard]] WordPair sum(WordPair from, const LogBytes& bytes, std::size_t begin,
                             std::size_t end) const {
    for (std::size_t at = begin; at < end; at += 8) {
      const auto word = [&](std::size_t place) {
        return is_big_endian_ ? big_endian_at(bytes, place) : little_endian_at(bytes, place);
      };
      from.first += word(at) + from.second;
      from.second += word(at + 4) + from.first;
    }
    return from;
  }

  bool is_big_endian_ = false;
  std::optional<WordPair> salts_;
  WordPair before_;  // the checksum of the frame before, as it is written there
  std::uint64_t number_ = 0;
  bool is_damaged_ = false;
  bool is_followed_ = false;
  bool is_behind_commit_ = false;
  std::uint32_t committed_page_ = 0;
  PassedOver found_;
};

std::optional<PassedOver> look_at_log(const std::string& path, const std::string& vfs) {
  sqlite3_initialize();
  LogFile file(path + "-wal", vfs);
  return LogReader().read(file);
}

}  // namespace

// A frame that is being written at one look is whole at the next.
std::optional<PassedOver> passed_over(const std::string& path, const std::string& vfs) {
  const auto found = look_at_log(path, vfs);
  return found && look_at_log(path, vfs) == found ? found : std::nullopt;
}

std::string sentence_of(const PassedOver& found) {
  const std::string place =
      found.frame == 0 ? "the header" : "frame " + std::to_string(found.frame);
  return place + " of the write-ahead log is damaged: at least " + std::to_string(found.commits) +
         " commits behind it cannot be read";
}

}  // namespace millrace::store::sqlite
