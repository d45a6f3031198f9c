// Plays many readers of AG-UI streams on raw sockets and checks what they get.
//
// Usage: stream_load PORT PATH [merged]
// With `merged`, deltas may come joined: the stamps that some have are counted then.
// Reads one command a line from standard input and answers each with one JSON line; ends when
// standard input ends, at the latest after ten minutes.
//
//   run STREAMS RAMP_MS COUNT PER_SECOND
//     keeps that many streams open; one that ends is followed by another
//   mark            reports the time since the last mark
//   stop            begins no more; answers when all have ended
//   hold N          opens N more streams that stay idle; answers when each has begun
//   attach N PATH   the same with readers of the run at PATH
//   stall N PATH    opens N readers that read nothing, of the run at PATH, in which % is the number
//                   of each; answers when all have asked
//   release         closes all but those of `run`

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "poller.hpp"

namespace {

using bench::now_ms;

constexpr double deadline_ms = 30'000;
constexpr double pause_after_failure_ms = 200;
constexpr std::size_t stamp_every = 25;  // as in mock_provider.cpp
constexpr std::string_view ending = "0\r\n\r\n";

struct Stream {
  int fd = -1;
  bool idle = false;       // stays open
  bool stalled = false;    // reads nothing
  bool connected = false;  // the request is sent
  bool waiting = true;     // for its end (idle: for its first delta)
  double started = 0;
  std::string request;
  std::string got;
};

struct Window {
  double since = now_ms();
  std::size_t bytes = 0;
  std::size_t streams = 0;
  std::vector<double> latencies;
  std::vector<double> first_bytes;
};

double quantile(std::vector<double>& values, double q) {
  if (values.empty()) return -1;
  const auto at = static_cast<std::size_t>(q * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

std::size_t count_of(std::string_view text, std::string_view word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + word.size()))
    ++count;
  return count;
}

// The body of a response in chunks.
std::string without_chunks(std::string_view response) {
  std::string body;
  std::size_t at = response.find("\r\n\r\n") + 4;
  for (;;) {
    const std::size_t line = response.find("\r\n", at);
    if (line == response.npos) return body;
    const std::size_t size =
        std::strtoul(std::string(response.substr(at, line - at)).c_str(), nullptr, 16);
    if (size == 0) return body;
    body += response.substr(line + 2, size);
    at = line + 2 + size + 2;
  }
}

// What is wrong with a whole response, or "".
std::string problem_of(std::string_view response, std::size_t count, bool is_merged) {
  if (!response.starts_with("HTTP/1.1 200 ")) return std::string(response.substr(0, 40));
  const std::string body = without_chunks(response);
  if (is_merged) {
    const std::size_t stamps = count_of(body, "@@") / 2;
    if (stamps != (count + stamp_every - 1) / stamp_every)
      return std::to_string(stamps) + " stamps";
  } else {
    const std::size_t deltas = count_of(body, "\"TEXT_MESSAGE_CONTENT\"");
    if (deltas != count) return std::to_string(deltas) + " deltas";
  }
  return count_of(body, "\"RUN_FINISHED\"") == 1 ? "" : "no RUN_FINISHED";
}

class Load {
 public:
  Load(std::uint16_t port, std::string path, bool is_merged)
      : port_(port), path_(std::move(path)), is_merged_(is_merged) {}

  void run() {
    poller_.add(STDIN_FILENO, EPOLLIN);
    answer("{\"ready\":true}");
    while (!leaving_) {
      poller_.wait(to_open_ > 0 || running_ ? 2 : 100,
                   [this](int fd, std::uint32_t events) { on_ready(fd, events); });
      open_due();
      expire();
    }
  }

 private:
  static void answer(const std::string& json) {
    std::printf("%s\n", json.c_str());
    std::fflush(stdout);
  }

  void on_ready(int fd, std::uint32_t events) {
    if (fd == STDIN_FILENO) return on_input();
    Stream* stream = find(fd);
    if (stream == nullptr) return;
    if (!stream->connected && (events & EPOLLOUT) != 0) return on_connected(*stream);
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) on_readable(*stream);
  }

  Stream* find(int fd) {
    const auto at = static_cast<std::size_t>(fd);
    return at < streams_.size() ? streams_[at].get() : nullptr;
  }

  // --- commands
  // --------------------------------------------------------------------------------------

  void on_input() {
    leaving_ = !bench::read_available(STDIN_FILENO, input_);
    for (std::size_t end = input_.find('\n'); end != std::string::npos; end = input_.find('\n')) {
      const std::string line = input_.substr(0, end);
      input_.erase(0, end + 1);
      on_command(line);
    }
  }

  void on_command(const std::string& line) {
    unsigned long streams = 0;
    unsigned long ramp = 0;
    unsigned long count = 0;
    unsigned long rate = 0;
    std::array<char, 200> path{};
    if (std::sscanf(line.c_str(), "run %lu %lu %lu %lu", &streams, &ramp, &count, &rate) == 4) {
      running_ = true;
      count_ = count;
      words_ = "[paced " + std::to_string(count) + " " + std::to_string(rate) + "]";
      to_open_ = streams;
      next_open_ = now_ms();
      open_gap_ = static_cast<double>(ramp) / static_cast<double>(streams);
      answer("{\"running\":true}");
    } else if (line == "mark") {
      mark();
    } else if (line == "stop") {
      running_ = false;
      to_open_ = 0;
      stopping_ = true;
      report_if_stopped();
    } else if (std::sscanf(line.c_str(), "hold %lu", &streams) == 1) {
      idle_waiting_ = streams;
      for (unsigned long i = 0; i < streams; ++i) open_idle(post("[hold]"));
    } else if (std::sscanf(line.c_str(), "attach %lu %199s", &streams, path.data()) == 2) {
      idle_waiting_ = streams;
      for (unsigned long i = 0; i < streams; ++i) open_idle(get(path.data(), i));
    } else if (std::sscanf(line.c_str(), "stall %lu %199s", &streams, path.data()) == 2) {
      idle_waiting_ = streams;
      for (unsigned long i = 0; i < streams; ++i) open_idle(get(path.data(), i), true);
    } else if (line == "release") {
      for (auto& stream : streams_) {
        if (stream && stream->idle) drop(*stream);
      }
      answer("{\"released\":true}");
    }
  }

  // A run that is recorded has an id of its own.
  [[nodiscard]] std::string post(const std::string& words) {
    const std::string id = std::to_string(getpid()) + "-" + std::to_string(++last_id_);
    const std::string body = R"({"threadId":")" + id + R"(","runId":")" + id +
                             R"(","messages":[{"id":"m1","role":"user","content":")" + words +
                             R"("}],"tools":[],"context":[],"state":{},"forwardedProps":{}})";
    return "POST " + path_ + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port_) +
           "\r\nContent-Type: application/json\r\nAccept: text/event-stream\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + body;
  }

  [[nodiscard]] std::string get(std::string path, unsigned long number) const {
    if (const std::size_t at = path.find('%'); at != path.npos) {
      path.replace(at, 1, std::to_string(number));
    }
    return "GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port_) + "\r\n\r\n";
  }

  void mark() {
    std::array<char, 320> text{};
    std::snprintf(
        text.data(), text.size(),
        "{\"seconds\":%.3f,\"bytes\":%zu,\"streams\":%zu,\"latencyP50\":%.3f,\"latencyP99\":%.3f,"
        "\"firstByteP99\":%.3f}",
        (now_ms() - window_.since) / 1e3, window_.bytes, window_.streams,
        quantile(window_.latencies, 0.5), quantile(window_.latencies, 0.99),
        quantile(window_.first_bytes, 0.99));
    window_ = {};
    answer(text.data());
  }

  void report_if_stopped() {
    if (!stopping_ || active_ > 0) return;
    stopping_ = false;
    std::string kinds;
    std::size_t failed = 0;
    for (const auto& [text, count] : failures_) {
      failed += count;
      std::string plain = std::to_string(count) + " x " + text;
      std::replace_if(
          plain.begin(), plain.end(), [](char c) { return c == '"' || c == '\\' || c < ' '; }, ' ');
      kinds += (kinds.empty() ? "\"" : ",\"") + plain + "\"";
    }
    answer("{\"finished\":" + std::to_string(finished_) +
           ",\"finishedBytes\":" + std::to_string(finished_bytes_) +
           ",\"failed\":" + std::to_string(failed) + ",\"failures\":[" + kinds + "]}");
  }

  // --- streams
  // ---------------------------------------------------------------------------------------

  void open_due() {
    for (const double now = now_ms(); to_open_ > 0 && next_open_ <= now; next_open_ += open_gap_) {
      --to_open_;
      open_stream();
      ++active_;
    }
  }

  void open_idle(std::string request, bool is_stalled = false) {
    Stream& stream = open_stream(is_stalled);
    stream.idle = true;
    stream.stalled = is_stalled;
    stream.request = std::move(request);
  }

  Stream& open_stream(bool takes_little = false) {
    const int fd = bench::connect_to_loopback(port_, takes_little);
    const auto at = static_cast<std::size_t>(fd);
    if (at >= streams_.size()) streams_.resize(at + 1);
    streams_[at] = std::make_unique<Stream>();
    streams_[at]->fd = fd;
    streams_[at]->started = now_ms();
    poller_.add(fd, EPOLLIN | EPOLLOUT);
    return *streams_[at];
  }

  void on_connected(Stream& stream) {
    stream.connected = true;
    if (!stream.stalled) poller_.change(stream.fd, EPOLLIN);
    if (stream.stalled) poller_.change(stream.fd, 0);
    begin(stream, stream.idle ? stream.request : post(words_));
    if (stream.stalled) report_if_idle(stream, "{\"stalled\":true}");
  }

  void report_if_idle(Stream& stream, const char* text) {
    stream.waiting = false;
    if (--idle_waiting_ == 0) answer(text);
  }

  void begin(Stream& stream, const std::string& request) {
    stream.got.clear();
    stream.waiting = true;
    stream.started = now_ms();
    const ssize_t sent = send(stream.fd, request.data(), request.size(), MSG_NOSIGNAL);
    if (sent != static_cast<ssize_t>(request.size())) fail(stream, "the request was not taken");
  }

  void on_readable(Stream& stream) {
    const std::size_t before = stream.got.size();
    const bool alive = bench::read_available(stream.fd, stream.got);
    const std::string_view fresh = std::string_view(stream.got).substr(before);
    if (stream.idle) {
      if (stream.waiting && stream.got.find("TEXT_MESSAGE_CONTENT") != std::string::npos) {
        report_if_idle(stream, "{\"holding\":true}");
      }
    } else if (stream.waiting) {
      if (before == 0) window_.first_bytes.push_back(now_ms() - stream.started);
      window_.bytes += fresh.size();
      note_latency(fresh);
      if (stream.got.ends_with(ending)) return on_end(stream);
    }
    if (!alive) fail(stream, "closed by the server");
  }

  void note_latency(std::string_view bytes) {
    const std::size_t at = bytes.find("@@");
    if (at == bytes.npos) return;
    const std::size_t end = bytes.find("@@", at + 2);
    if (end == bytes.npos) return;
    window_.latencies.push_back(
        now_ms() - std::strtod(std::string(bytes.substr(at + 2, end)).c_str(), nullptr));
  }

  void on_end(Stream& stream) {
    const std::string problem = problem_of(stream.got, count_, is_merged_);
    if (!problem.empty()) ++failures_[problem];
    ++finished_;
    ++window_.streams;
    finished_bytes_ += stream.got.size();
    stream.waiting = false;
    if (running_) return begin(stream, post(words_));
    drop(stream);
    --active_;
    report_if_stopped();
  }

  void fail(Stream& stream, const std::string& why) {
    const bool idle = stream.idle;
    const bool counts = stream.waiting;
    if (counts) ++failures_[why];
    if (counts && idle) answer("{\"failure\":\"an idle stream: " + why + "\"}");
    drop(stream);
    if (idle) return;
    --active_;
    // A server that refuses everything must not be stormed.
    if (running_) next_open_ = std::max(next_open_, now_ms() + pause_after_failure_ms);
    if (running_) ++to_open_;
    report_if_stopped();
  }

  void drop(const Stream& stream) {
    const int fd = stream.fd;
    close(fd);
    streams_[static_cast<std::size_t>(fd)].reset();
  }

  void expire() {
    const double now = now_ms();
    if (now < next_expiry_) return;
    next_expiry_ = now + 500;
    for (auto& stream : streams_) {
      if (stream && stream->waiting && now - stream->started > deadline_ms)
        fail(*stream, "took too long");
    }
  }

  std::uint16_t port_;
  std::string path_;
  bool is_merged_;
  std::size_t last_id_ = 0;
  bench::Poller poller_;
  bool leaving_ = false;
  std::string input_;
  std::vector<std::unique_ptr<Stream>> streams_;  // by descriptor
  Window window_;

  bool running_ = false;
  bool stopping_ = false;
  std::string words_;
  std::size_t count_ = 0;
  std::size_t to_open_ = 0;
  double next_open_ = 0;
  double open_gap_ = 0;
  double next_expiry_ = 0;
  std::size_t active_ = 0;
  std::size_t idle_waiting_ = 0;
  std::size_t finished_ = 0;
  std::size_t finished_bytes_ = 0;
  std::map<std::string, std::size_t> failures_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    std::fputs("usage: stream_load PORT PATH [merged]\n", stderr);
    return 2;
  }
  alarm(600);
  const auto port = static_cast<std::uint16_t>(std::strtoul(argv[1], nullptr, 10));
  Load(port, argv[2], argc == 4).run();
  return 0;
}
