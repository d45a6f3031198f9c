// Measures the engine alone: bytes of one wire -> AG-UI server-sent events, on one core.
//
// Usage: engine_bench WIRE FILE [READ_SIZE] [SECONDS]
// Prints one JSON object: megabytes a second, events, allocations per delta in the second half of
// the stream (the first half warms the buffers up).

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <new>
#include <string>

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

// Forwards to the encoder, counts, and empties its buffer as a socket would.
class Counter final : public event::EventSink {
 public:
  explicit Counter(encoder::AgUiEncoder& encoder) : encoder_(encoder) {}
  void on_event(const event::Event& event) override {
    ++events;
    encoder_.on_event(event);
  }
  std::size_t events = 0;

 private:
  encoder::AgUiEncoder& encoder_;
};

struct Outcome {
  std::size_t events = 0;
  std::size_t bytes_out = 0;
  std::size_t late_events = 0;
  std::size_t late_allocations = 0;
};

Outcome run_once(const adapter::Wire& wire, const std::string& input, std::size_t read_size) {
  CountingIds ids("id-");
  encoder::AgUiEncoder encoder({"thread", "run", "", "1.0"});
  Counter counter(encoder);
  adapter::Decoder decoder(wire, {}, ids, counter);
  Outcome outcome;
  std::size_t events_at_half = 0;
  std::size_t allocations_at_half = 0;
  bool past_half = false;
  std::string out;
  for (std::size_t at = 0; at < input.size(); at += read_size) {
    if (!past_half && at >= input.size() / 2) {
      past_half = true;
      events_at_half = counter.events;
      allocations_at_half = allocations.load();
    }
    if (!decoder.feed(std::string_view(input).substr(at, read_size))) break;
    encoder.take_into(out);
    outcome.bytes_out += out.size();
  }
  outcome.late_allocations = allocations.load() - allocations_at_half;
  outcome.late_events = counter.events - events_at_half;
  (void)decoder.finish();
  encoder.finish();
  outcome.events = counter.events;
  return outcome;
}

}  // namespace

int main(int argc, char** argv) {
  const adapter::Wire* wire = argc > 2 ? adapter::find_wire(argv[1]) : nullptr;
  std::ifstream file(argc > 2 ? argv[2] : "", std::ios::binary);
  if (wire == nullptr || !file) {
    std::fputs("usage: engine_bench WIRE FILE [READ_SIZE] [SECONDS]\n", stderr);
    return 2;
  }
  const std::string input((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::size_t read_size = argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 16384;
  const double seconds = argc > 4 ? std::strtod(argv[4], nullptr) : 2.0;
  Outcome outcome = run_once(*wire, input, read_size);
  double best = 0;
  const auto start = Clock::now();
  do {
    const auto begin = Clock::now();
    outcome = run_once(*wire, input, read_size);
    const double took = std::chrono::duration<double>(Clock::now() - begin).count();
    best = std::max(best, static_cast<double>(input.size()) / took / 1e6);
  } while (std::chrono::duration<double>(Clock::now() - start).count() < seconds);
  std::printf(
      "{\"wire\":\"%s\",\"bytes\":%zu,\"events\":%zu,\"bytesOut\":%zu,\"readSize\":%zu,"
      "\"mbPerSecond\":%.0f,\"nsPerEvent\":%.0f,\"allocationsPerEvent\":%.4f}\n",
      argv[1], input.size(), outcome.events, outcome.bytes_out, read_size, best,
      static_cast<double>(input.size()) / best * 1e3 / static_cast<double>(outcome.events),
      outcome.late_events == 0 ? 0.0
                               : static_cast<double>(outcome.late_allocations) /
                                     static_cast<double>(outcome.late_events));
  return 0;
}
