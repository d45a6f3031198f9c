#include "app/store_transfer.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/shown.hpp"
#include "journal/checksum.hpp"
#include "os/sync.hpp"
#include "store/row_json.hpp"

namespace millrace::app {
namespace {

using json::Tree;

constexpr std::int64_t export_version = 1;
constexpr std::string_view export_format = "millrace-store";
constexpr std::string_view crc_mark = ",\"crc\":";
constexpr std::size_t chunk_bytes = std::size_t{1} << 18U;
// No row is longer; what has no end is no export.
constexpr std::size_t longest_line = std::size_t{1} << 30U;
constexpr std::uint64_t rows_between_reports = 1000;

Error transfer_failed(const std::string& what, int reason) {
  return make_error(Errc::store_failed, what, std::generic_category().message(reason));
}

// Standard output and input may be set not to block.
bool wait_for(int descriptor, short events) {
  pollfd place{descriptor, events, 0};
  return ::poll(&place, 1, -1) >= 0 || errno == EINTR;
}

bool write_whole(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!wait_for(descriptor, POLLOUT)) return false;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

// Writes lines with their checksums.
class LineWriter {
 public:
  explicit LineWriter(int descriptor) : descriptor_(descriptor) {}

  Result<void> add(const Tree& line) {
    std::string text = line.to_json();
    text.pop_back();
    crc_ = journal::crc32c(text, crc_);
    buffer_.append(text).append(crc_mark).append(std::to_string(crc_)).append("}\n");
    return buffer_.size() < chunk_bytes ? Result<void>() : flush();
  }
  Result<void> flush() {
    bytes_ += buffer_.size();
    if (!write_whole(descriptor_, buffer_)) {
      return transfer_failed("The export cannot be written.", errno);
    }
    buffer_.clear();
    return {};
  }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  int descriptor_;
  std::string buffer_;
  std::uint32_t crc_ = 0;
  std::uint64_t bytes_ = 0;
};

// Reads them and compares.
class LineReader {
 public:
  explicit LineReader(int descriptor) : descriptor_(descriptor) {}

  // A line that ended before its place names it.
  [[nodiscard]] Error wrong(const std::string& what) const {
    return make_error(Errc::invalid_argument,
                      "Line " + std::to_string(number_) + " of the export: " + what);
  }

  // The next line without its checksum.
  Result<Tree> next() {
    ++number_;
    auto text = read_text();
    if (!text) return std::move(text).error();
    const std::string_view line = text.value();
    const std::size_t mark = line.rfind(crc_mark);
    if (mark == std::string_view::npos) return wrong("it is damaged.");
    std::uint32_t given = 0;
    const char* const begin = line.data() + mark + crc_mark.size();
    const char* const end = line.data() + line.size();
    const auto read = std::from_chars(begin, end, given);
    crc_ = journal::crc32c(line.substr(0, mark), crc_);
    const bool is_whole = read.ec == std::errc() && std::string_view(read.ptr, end) == "}";
    if (!is_whole || given != crc_) {
      return wrong("it, or one before it, is damaged or missing.");
    }
    auto parsed = Tree::parse(std::string(line.substr(0, mark)) + "}");
    return parsed ? std::move(parsed) : wrong(parsed.error().message);
  }
  // True when nothing follows.
  Result<bool> at_end() {
    if (at_ < buffer_.size()) return false;
    MILLRACE_TRY(fill());
    return at_ >= buffer_.size();
  }

 private:
  Result<std::string> read_text() {
    std::size_t searched = at_;
    for (;;) {
      const std::size_t end = buffer_.find('\n', searched);
      if (end != std::string::npos) {
        std::string line = buffer_.substr(at_, end - at_);
        at_ = end + 1;
        return line;
      }
      searched = buffer_.size();
      const std::size_t before = searched;
      if (before - at_ > longest_line) return wrong("it is longer than any row.");
      searched -= at_;
      MILLRACE_TRY(fill());
      if (buffer_.size() == searched) return wrong("the export ends here and is not whole.");
    }
  }
  // Adds what comes next behind what is left.
  Result<void> fill() {
    buffer_.erase(0, at_);
    at_ = 0;
    const std::size_t had = buffer_.size();
    buffer_.resize(had + chunk_bytes);
    for (;;) {
      const ssize_t got = ::read(descriptor_, buffer_.data() + had, chunk_bytes);
      if (got >= 0) {
        buffer_.resize(had + static_cast<std::size_t>(got));
        return {};
      }
      const bool may_wait = errno == EAGAIN || errno == EWOULDBLOCK;
      if (may_wait ? !wait_for(descriptor_, POLLIN) : errno != EINTR) {
        buffer_.resize(had);
        return transfer_failed("The export cannot be read.", errno);
      }
    }
  }

  int descriptor_;
  std::string buffer_;
  std::size_t at_ = 0;
  std::uint64_t number_ = 0;
  std::uint32_t crc_ = 0;
};

Result<void> check_header(LineReader& lines) {
  auto header = lines.next();
  if (!header) return std::move(header).error();
  if (header.value()["format"].string() != export_format) {
    return lines.wrong("this is no export of a store.");
  }
  const std::int64_t version = header.value()["version"].integer_or(0);
  if (version == export_version) return {};
  return lines.wrong("its version is " + std::to_string(version) + ", and this release knows " +
                     std::to_string(export_version) + ".");
}

}  // namespace

Result<TransferFile> TransferFile::to_write(const Tree& options) {
  TransferFile made;
  made.path_ = options["path"].string();
  if (made.path_.empty()) {
    made.borrowed_ = static_cast<int>(options["fd"].integer_or(1));
    return made;
  }
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  made.file_ = os::Descriptor(::open(made.path_.c_str(), flags, 0600));
  if (made.file_.get() >= 0) return made;
  return make_error(Errc::invalid_option,
                    "The file " + shown_text(made.path_) +
                        " cannot be made: " + std::generic_category().message(errno) + ".");
}

Result<TransferFile> TransferFile::to_read(const Tree& options) {
  TransferFile made;
  made.path_ = options["path"].string();
  if (made.path_.empty()) {
    made.borrowed_ = static_cast<int>(options["fd"].integer_or(0));
    return made;
  }
  made.file_ = os::Descriptor(::open(made.path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (made.file_.get() >= 0) return made;
  return make_error(Errc::invalid_option,
                    "The file " + shown_text(made.path_) +
                        " cannot be read: " + std::generic_category().message(errno) + ".");
}

Result<void> TransferFile::finish() {
  if (borrowed_ >= 0 || os::sync_file(file_.get())) return {};
  return transfer_failed("The export cannot be written.", errno);
}

Result<Tree> export_store(store::StorageBackend& backend, TransferFile& to,
                          const TransferProgress& progress) {
  LineWriter lines(to.descriptor());
  Tree header = Tree::object();
  header.set("format", export_format);
  header.set("version", Tree::integer(export_version));
  MILLRACE_TRY(lines.add(header));
  std::uint64_t rows = 0;
  Result<void> dumped = backend.dump([&](const store::AnyRow& row) -> Result<void> {
    if (++rows % rows_between_reports == 0) progress(rows);
    return lines.add(store::row_json(row));
  });
  Tree last = Tree::object();
  last.set("end", Tree::object()).set("rows", Tree::integer(static_cast<std::int64_t>(rows)));
  if (dumped) dumped = lines.add(last);
  if (dumped) dumped = lines.flush();
  if (dumped) dumped = to.finish();
  if (!dumped) {
    // Half an export is none.
    if (!to.path().empty()) ::unlink(to.path().c_str());
    return std::move(dumped).error();
  }
  Tree result = Tree::object();
  result.set("rows", Tree::integer(static_cast<std::int64_t>(rows)));
  result.set("bytes", Tree::integer(static_cast<std::int64_t>(lines.bytes())));
  return result;
}

Result<Tree> replay_into(store::StorageBackend& backend, const run::ReplayRequest& request,
                         TransferFile& to) {
  std::int64_t count = 0;
  Result<void> done =
      run::replay_run(backend, request, [&](std::string_view bytes) -> Result<void> {
        if (!write_whole(to.descriptor(), bytes)) {
          return transfer_failed("The replay cannot be written.", errno);
        }
        count += static_cast<std::int64_t>(bytes.size());
        return {};
      });
  if (done) done = to.finish();
  if (!done) {
    if (!to.path().empty()) ::unlink(to.path().c_str());
    return std::move(done).error();
  }
  Tree result = Tree::object();
  result.set("bytes", Tree::integer(count));
  return result;
}

Result<Tree> import_store(store::StorageBackend& backend, TransferFile& from,
                          const TransferProgress& progress) {
  LineReader lines(from.descriptor());
  MILLRACE_TRY(check_header(lines));
  std::uint64_t rows = 0;
  const auto next = [&]() -> Result<std::optional<store::AnyRow>> {
    auto line = lines.next();
    if (!line) return std::move(line).error();
    if (const Tree* end = line.value().find("end")) {
      if ((*end)["rows"].integer_or(-1) != static_cast<std::int64_t>(rows)) {
        return lines.wrong("rows are missing before it.");
      }
      auto is_last = lines.at_end();
      if (!is_last) return std::move(is_last).error();
      if (!is_last.value()) return lines.wrong("something follows the end.");
      return std::optional<store::AnyRow>();
    }
    auto row = store::read_row(line.value());
    if (!row) return lines.wrong(row.error().message);
    if (++rows % rows_between_reports == 0) progress(rows);
    return std::optional<store::AnyRow>(std::move(row).value());
  };
  if (auto loaded = backend.load(next); !loaded) {
    // The row that the store did not take is that of the last line.
    const Error& error = loaded.error();
    const bool has_place =
        error.code != Errc::invalid_argument || error.message.starts_with("Line ");
    return has_place ? error : lines.wrong(error.message);
  }
  Tree result = Tree::object();
  result.set("rows", Tree::integer(static_cast<std::int64_t>(rows)));
  return result;
}

}  // namespace millrace::app
