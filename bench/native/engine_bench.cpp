// Measures the engine alone: bodies of one wire -> AG-UI server-sent events, on one core.
//
// Usage: engine_bench WIRE READ_SIZE SECONDS FILE...
// Prints one JSON object: megabytes a second of the best pass over all files, events, and how many
// times memory was allocated for how many deltas.

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <new>
#include <string>
#include <variant>
#include <vector>

#include "adapter/decoder.hpp"
#include "encoder/ag_ui.hpp"

namespace {
std::atomic<std::size_t> allocations{0};
}  // namespace

void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace {

using namespace millrace;
using Clock = std::chrono::steady_clock;

// Forwards to the encoder and counts.
class Counter final : public event::EventSink {
 public:
  explicit Counter(encoder::AgUiEncoder& encoder) : encoder_(encoder) {}
  void on_event(const event::Event& event) override {
    ++events;
    if (is_delta(event.body)) ++deltas;
    encoder_.on_event(event);
  }
  std::size_t events = 0;
  std::size_t deltas = 0;

 private:
  static bool is_delta(const event::Body& body) {
    return std::holds_alternative<event::TextDelta>(body) ||
           std::holds_alternative<event::ReasoningDelta>(body) ||
           std::holds_alternative<event::ToolArgs>(body);
  }
  encoder::AgUiEncoder& encoder_;
};

// What one request of a server would set up for its answer.
struct Conversion {
  explicit Conversion(const adapter::Wire& wire) : decoder(wire, {}, ids, counter) {}

  // False when the stream has ended with an error.
  bool feed(std::string_view bytes) {
    const bool alive = decoder.feed(bytes).ok();
    encoder.take_into(out);
    return alive;
  }
  CountingIds ids{"id-"};
  encoder::AgUiEncoder encoder{{"thread", "run", "", "1.0"}};
  Counter counter{encoder};
  adapter::Decoder decoder;
  std::string out;
};

// What an answer gave back stays in the process, as in a server whose heap has other answers in it.
// Else the top of the heap goes to the system after each body, and comes back page by page.
void keep_heap() {
  constexpr int most_bytes = 1 << 30;
  constexpr int most_in_heap = 32 << 20;  // glibc takes no more
  mallopt(M_TRIM_THRESHOLD, most_bytes);
  mallopt(M_MMAP_THRESHOLD, most_in_heap);
}

struct Outcome {
  std::size_t events = 0;
  std::size_t bytes_out = 0;
};

void decode(const adapter::Wire& wire, std::string_view input, std::size_t read_size,
            Outcome& outcome) {
  Conversion conversion(wire);
  for (std::size_t at = 0; at < input.size(); at += read_size) {
    if (!conversion.feed(input.substr(at, read_size))) break;
    outcome.bytes_out += conversion.out.size();
  }
  (void)conversion.decoder.finish();
  conversion.encoder.finish();
  outcome.events += conversion.counter.events;
}

struct Allocations {
  std::size_t deltas = 0;
  std::size_t count = 0;
};

// Gives both buffers that encoder and reader exchange the room that a long delta may need, as they
// have it once there was one.
void warm_up(Conversion& conversion, std::size_t bytes) {
  for (int buffer = 0; buffer < 2; ++buffer) {
    conversion.out.reserve(bytes);
    conversion.encoder.take_into(conversion.out);
  }
}

// Feeds line by line and counts where nothing but deltas came of it, in the second half of the
// body: the first half warms the decoder up, and a part that starts may keep its id.
void count_allocations(const adapter::Wire& wire, std::string_view input, Allocations& sum) {
  Conversion conversion(wire);
  constexpr std::size_t long_delta_bytes = std::size_t{64} << 10U;
  warm_up(conversion, long_delta_bytes);
  for (std::size_t at = 0; at < input.size();) {
    const std::size_t end = std::min(input.find('\n', at), input.size() - 1) + 1;
    const std::size_t events = conversion.counter.events;
    const std::size_t deltas = conversion.counter.deltas;
    const std::size_t before = allocations.load();
    if (!conversion.feed(input.substr(at, end - at))) break;
    const std::size_t new_deltas = conversion.counter.deltas - deltas;
    const bool only_deltas = new_deltas > 0 && conversion.counter.events - events == new_deltas;
    if (at > input.size() / 2 && only_deltas) {
      sum.deltas += new_deltas;
      sum.count += allocations.load() - before;
    }
    at = end;
  }
}

std::vector<std::string> read_files(int count, char** names) {
  std::vector<std::string> bodies;
  for (int i = 0; i < count; ++i) {
    std::ifstream file(names[i], std::ios::binary);
    if (!file) return {};
    bodies.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return bodies;
}

}  // namespace

int main(int argc, char** argv) {
  const adapter::Wire* wire = argc > 4 ? adapter::find_wire(argv[1]) : nullptr;
  const std::size_t read_size = argc > 4 ? std::strtoul(argv[2], nullptr, 10) : 0;
  const double seconds = argc > 4 ? std::strtod(argv[3], nullptr) : 0;
  const auto bodies = argc > 4 ? read_files(argc - 4, argv + 4) : std::vector<std::string>{};
  if (wire == nullptr || read_size == 0 || bodies.empty()) {
    std::fputs("usage: engine_bench WIRE READ_SIZE SECONDS FILE...\n", stderr);
    return 2;
  }
  keep_heap();
  std::size_t bytes = 0;
  Allocations late;
  for (const auto& body : bodies) {
    bytes += body.size();
    count_allocations(*wire, body, late);
  }
  Outcome outcome;
  double best = 0;
  const auto start = Clock::now();
  do {
    outcome = {};
    const auto begin = Clock::now();
    for (const auto& body : bodies) decode(*wire, body, read_size, outcome);
    const double took = std::chrono::duration<double>(Clock::now() - begin).count();
    best = std::max(best, static_cast<double>(bytes) / took / 1e6);
  } while (std::chrono::duration<double>(Clock::now() - start).count() < seconds);
  std::printf(
      "{\"wire\":\"%s\",\"bytes\":%zu,\"events\":%zu,\"bytesOut\":%zu,\"readSize\":%zu,"
      "\"mbPerSecond\":%.1f,\"deltas\":%zu,\"allocations\":%zu}\n",
      argv[1], bytes, outcome.events, outcome.bytes_out, read_size, best, late.deltas, late.count);
  return 0;
}
