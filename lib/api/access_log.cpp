#include "api/access_log.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <ratio>
#include <utility>

#include "base/ascii.hpp"
#include "base/json_tree.hpp"
#include "base/secret_filter.hpp"
#include "base/shown.hpp"
#include "os/random_ids.hpp"

namespace millrace::api {
namespace {

using json::Tree;

constexpr std::size_t most_waiting = std::size_t{8} << 20U;  // bytes
constexpr std::size_t longest_id = 128;
constexpr mode_t owner_only = 0600;

bool is_lower_hex(char c) {
  return is_ascii_digit(c) || (c >= 'a' && c <= 'f');
}

// Shape: 2026-01-31T23:59:59.123Z
std::string utc_time() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  constexpr std::int64_t second = 1000;
  const auto seconds = static_cast<std::time_t>(ms / second);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, sizeof("2026-01-01T00:00:00")> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  const std::string fraction = std::to_string(second + ms % second);
  return std::string(text.data()) + "." + fraction.substr(1) + "Z";
}

Error not_opened(const std::string& file, int error) {
  return make_error(Errc::invalid_option, "The access log " + shown_text(file) +
                                              " cannot be opened (error " + std::to_string(error) +
                                              " of the system).");
}

std::string line_of(const http::RequestReport& report) {
  constexpr double tenth = 10;
  const double ms = std::chrono::duration<double, std::milli>(report.took).count();
  Tree line = Tree::object();
  line.set("time", utc_time());
  line.set("id", report.identity.id);
  line.set("method", report.method);
  line.set("path", shown_path(report.path));
  line.set("status", Tree::integer(report.status));
  line.set("bytes", Tree::integer(static_cast<std::int64_t>(report.bytes)));
  line.set("ms", Tree::number(std::round(ms * tenth) / tenth));
  const auto set = [&](std::string_view name, const std::string& text) {
    if (!text.empty()) line.set(name, text);
  };
  set("address", report.identity.address);
  if (report.caller) {
    set("principal", report.caller->principal);
    set("key", report.caller->key);
  }
  set("trace", report.identity.trace);
  if (!report.is_complete) line.set("cut", Tree::flag(true));
  return line.to_json(json::Surrogates::replace) + "\n";
}

}  // namespace

std::string_view valid_trace(std::string_view value) {
  constexpr std::size_t size = 55;  // 00-<32 digits>-<16 digits>-<2 digits>
  if (value.size() < size) return {};
  const std::string_view known = value.substr(0, size);
  const bool is_longer = value.size() > size;
  if (is_longer && (value.starts_with("00") || value[size] != '-')) return {};
  for (std::size_t at = 0; at < size; ++at) {
    const bool is_dash = at == 2 || at == 35 || at == 52;
    if (is_dash ? known[at] != '-' : !is_lower_hex(known[at])) return {};
  }
  const auto is_zero = [](std::string_view digits) {
    return digits.find_first_not_of('0') == std::string_view::npos;
  };
  const bool is_void =
      known.starts_with("ff") || is_zero(known.substr(3, 32)) || is_zero(known.substr(36, 16));
  return is_void ? std::string_view() : known;
}

std::string shown_path(std::string_view path) {
  for (const std::string_view mark : {"%3F", "%3f"}) path = path.substr(0, path.find(mark));
  std::string shown;
  // A slash may be a part of a key, so that each piece is looked at alone.
  while (!path.empty()) {
    const std::size_t end = std::min(path.find_first_of("/;&"), path.size());
    const std::string_view piece = path.substr(0, end);
    const std::size_t equals = std::min(piece.find('='), piece.size());
    std::vector<std::string> carried;
    if (equals < piece.size()) {
      add_carried_secrets(carried, piece.substr(0, equals), piece.substr(equals + 1));
    }
    shown.append(carried.empty() ? redacted(piece, std::string::npos)
                                 : std::string(piece.substr(0, equals)) + "=[redacted]");
    if (end < path.size()) shown.push_back(path[end]);
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return shown;
}

bool is_request_id(std::string_view id) {
  constexpr std::string_view others = "-_.:~+/=";
  return !id.empty() && id.size() <= longest_id && std::all_of(id.begin(), id.end(), [&](char c) {
    return is_ascii_alphanumeric(c) || others.find(c) != std::string_view::npos;
  });
}

bool has_secret(std::string_view id, const http::Headers& headers) {
  std::vector<std::string> secrets;
  for (const auto& [name, value] : headers) add_carried_secrets(secrets, name, value);
  return redacted(id, std::string::npos) != id || without_secrets(id, secrets) != id;
}

// The lines that wait and where they go.
// Thread: any.
class AccessLog::Sink {
 public:
  explicit Sink(std::string file) : file_(std::move(file)) {}
  ~Sink() { shut(); }
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  // Shape: 0, or the number of the system's error.
  int open() {
    if (file_ == "-") {
      descriptor_ = STDOUT_FILENO;
      return 0;
    }
    descriptor_ = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, owner_only);
    return descriptor_ < 0 ? errno : 0;
  }

  [[nodiscard]] const std::string& file() const { return file_; }

  void add(std::string_view line) {
    const std::lock_guard lock(waiting_);
    if (lines_.size() + line.size() > most_waiting) {
      ++dropped_;
    } else {
      lines_.append(line);
    }
  }

  bool has_lines() {
    const std::lock_guard lock(waiting_);
    return !lines_.empty();
  }

  // Writes what waits, in the order of the requests.
  void flush() {
    const std::lock_guard writing(writing_);
    std::string lines;
    {
      const std::lock_guard lock(waiting_);
      lines = std::exchange(lines_, {});
      if (dropped_ > 0) lines += "{\"dropped\":" + std::to_string(dropped_) + "}\n";
      dropped_ = 0;
    }
    if (lines.empty()) return;
    follow();
    // The rest of a line that could not be written would run into the next one.
    if (std::exchange(is_cut_, false)) lines.insert(0, "\n");
    std::string_view rest = lines;
    while (!rest.empty()) {
      const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
      if (written < 0 && errno == EINTR) continue;
      // A pipe of the host's may be full.
      if (written < 0 && errno == EAGAIN && has_room()) continue;
      if (written <= 0) {
        is_cut_ = rest.size() < lines.size() && rest.data()[-1] != '\n';
        return lose(rest);
      }
      rest.remove_prefix(static_cast<std::size_t>(written));
    }
  }

 private:
  // Waits until the reader has taken something, but not for ever.
  [[nodiscard]] bool has_room() const {
    constexpr int longest_ms = 1000;
    pollfd wanted{descriptor_, POLLOUT, 0};
    return ::poll(&wanted, 1, longest_ms) > 0 && (wanted.revents & POLLOUT) != 0;
  }
  void shut() {
    if (descriptor_ > STDERR_FILENO) ::close(descriptor_);
    descriptor_ = -1;
  }
  // Programs that rotate logs move the file.
  void follow() {
    if (file_ == "-") return;
    struct stat named {};
    struct stat held {};
    const bool is_same = descriptor_ >= 0 && ::stat(file_.c_str(), &named) == 0 &&
                         ::fstat(descriptor_, &held) == 0 && named.st_ino == held.st_ino &&
                         named.st_dev == held.st_dev;
    if (is_same) return;
    shut();
    static_cast<void>(open());
  }
  // The next line that can be written is about these.
  void lose(std::string_view lines) {
    const std::lock_guard lock(waiting_);
    dropped_ += static_cast<std::size_t>(std::count(lines.begin(), lines.end(), '\n'));
  }

  std::string file_;
  int descriptor_ = -1;
  bool is_cut_ = false;  // what was written last is a part of a line
  std::mutex writing_;
  std::mutex waiting_;
  std::string lines_;
  std::size_t dropped_ = 0;
};

Result<std::shared_ptr<AccessLog>> AccessLog::open(os::BlockingPool& pool,
                                                   const AccessLogOptions& options) {
  auto proxies = TrustedProxies::make(options.trusted_proxies);
  if (!proxies) return std::move(proxies).error();
  auto sink = open_sink(options.file);
  if (!sink) return std::move(sink).error();
  return std::shared_ptr<AccessLog>(
      new AccessLog(pool, std::move(proxies).value(), std::move(sink).value()));
}

Result<void> AccessLog::check(const AccessLogOptions& options) {
  auto proxies = TrustedProxies::make(options.trusted_proxies);
  if (!proxies) return std::move(proxies).error();
  if (options.file.empty() || options.file == "-") return {};
  if (::access(options.file.c_str(), W_OK) == 0) return {};
  // One that is missing is made in its folder.
  int error = errno;
  const auto folder = std::filesystem::path(options.file).parent_path();
  if (error == ENOENT) {
    error = ::access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) == 0 ? 0 : errno;
  }
  if (error != 0) return not_opened(options.file, error);
  return {};
}

Result<std::shared_ptr<AccessLog::Sink>> AccessLog::open_sink(const std::string& file) {
  if (file.empty()) return std::shared_ptr<Sink>();
  auto sink = std::make_shared<Sink>(file);
  if (const int error = sink->open(); error != 0) return not_opened(file, error);
  return sink;
}

Result<std::function<void()>> AccessLog::prepare(const AccessLogOptions& options) {
  auto proxies = TrustedProxies::make(options.trusted_proxies);
  if (!proxies) return std::move(proxies).error();
  const bool is_same = options.file == (sink_ ? sink_->file() : std::string());
  auto sink = is_same ? Result<std::shared_ptr<Sink>>(sink_) : open_sink(options.file);
  if (!sink) return std::move(sink).error();
  return std::function<void()>([self = shared_from_this(), proxies = std::move(proxies).value(),
                                sink = std::move(sink).value()] { self->take(proxies, sink); });
}

// What still waits goes to where it was to be written.
void AccessLog::take(TrustedProxies proxies, std::shared_ptr<Sink> sink) {
  proxies_ = std::move(proxies);
  const auto old = std::exchange(sink_, std::move(sink));
  if (old && old != sink_) old->flush();
}

AccessLog::AccessLog(os::BlockingPool& pool, TrustedProxies proxies, std::shared_ptr<Sink> sink)
    : pool_(&pool), proxies_(std::move(proxies)), sink_(std::move(sink)) {}

AccessLog::~AccessLog() {
  if (sink_) sink_->flush();
}

http::RequestIdentity AccessLog::identify(const http::Headers& headers, std::string_view peer) {
  http::RequestIdentity identity;
  const std::string_view given = headers.find(http::request_id_field).value_or("");
  const bool is_taken = is_request_id(given) && !has_secret(given, headers);
  identity.id = is_taken ? std::string(given) : os::RandomIds().next_id();
  identity.address = proxies_.client_of(peer, headers);
  if (headers.count("traceparent") == 1) {
    identity.trace = valid_trace(headers.find("traceparent").value_or(""));
  }
  return identity;
}

void AccessLog::report(const http::RequestReport& report) {
  if (!sink_) return;
  sink_->add(line_of(report));
  flush();
}

// One thread writes at a time; what comes meanwhile is written behind that.
void AccessLog::flush() {
  if (!sink_->has_lines()) return;
  if (pool_ == nullptr) return sink_->flush();
  if (std::exchange(is_flushing_, true)) return;
  const auto ticket = pool_->run([sink = sink_, weak = weak_from_this()] {
    sink->flush();
    return [weak] {
      const auto self = weak.lock();
      if (!self) return;
      self->is_flushing_ = false;
      if (self->sink_) self->flush();
    };
  });
  // Where the pool is full, the next request tries again.
  if (!ticket) is_flushing_ = false;
}

}  // namespace millrace::api
