#include "net/socket_watch.hpp"

#include <utility>

#include "os/event_loop.hpp"
#include "os/timer.hpp"

namespace millrace::net {
namespace {

// Of each kind, before others have their turn.
constexpr std::size_t at_once = 16;
// A socket that is ready so often in one turn of its ring brings more than may lie.
constexpr std::uint32_t too_often = 4;

}  // namespace

struct SocketWatch::Ring {
  Ring(SocketWatch& watch, std::size_t place)
      : number(place),
        set(watch.loop_, [&watch, this] { watch.begin_turn(*this); }),
        timer(watch.loop_, [this] { set.watch(); }) {}

  std::size_t number;
  os::SocketSet set;
  os::Timer timer;
  std::uint32_t turn = 0;
};

SocketWatch::SocketWatch(os::EventLoop& loop, OnReady on_ready, Pace pace)
    : loop_(loop), on_ready_(std::move(on_ready)), pace_(std::move(pace)), prompt_(loop, [this] {
        attend_to_prompt();
        prompt_.watch();
      }) {
  prompt_.watch();
  if (!pace_) return;
  for (std::size_t place = 0; place < rings_.size(); ++place) {
    rings_.at(place) = std::make_unique<Ring>(*this, place);
    rings_.at(place)->set.watch();
  }
}

SocketWatch::~SocketWatch() = default;

os::SocketSet& SocketWatch::set_of(const Socket& socket) {
  return socket.ring == nullptr ? prompt_ : socket.ring->set;
}

// The kernel tells of failures unasked: a socket of which nothing is wanted must not be known.
bool SocketWatch::report(int fd, Socket& socket) {
  os::SocketSet& set = set_of(socket);
  const bool is_wanted = socket.reading || socket.writing;
  const bool was_known = std::exchange(socket.is_known, is_wanted);
  if (!is_wanted) {
    if (was_known) set.remove(fd);
    return true;
  }
  return was_known ? set.change(fd, socket.number, socket.reading, socket.writing)
                   : set.add(fd, socket.number, socket.reading, socket.writing);
}

bool SocketWatch::watch(int fd, bool reading, bool writing) {
  const auto [at, is_new] = sockets_.try_emplace(fd);
  Socket& socket = at->second;
  if (is_new) socket.number = ++last_number_;
  if (socket.reading == reading && socket.writing == writing) return true;
  socket.reading = reading;
  socket.writing = writing;
  if (report(fd, socket)) return true;
  sockets_.erase(at);
  return false;
}

void SocketWatch::forget(int fd) {
  const auto at = sockets_.find(fd);
  if (at == sockets_.end()) return;
  if (at->second.is_known) set_of(at->second).remove(fd);
  sockets_.erase(at);
}

void SocketWatch::move(int fd, Socket& socket, Ring* ring) {
  if (socket.is_known) set_of(socket).remove(fd);
  socket.is_known = false;
  socket.ring = ring;
  // Without a place among the calm ones it is lost, and its transfer hears so from its deadlines;
  // the kernel refuses what it had a moment ago only when no memory is left at all.
  static_cast<void>(report(fd, socket));
}

void SocketWatch::deprioritize(int fd) {
  const auto at = sockets_.find(fd);
  if (!pace_ || at == sockets_.end() || at->second.ring != nullptr) return;
  move(fd, at->second, rings_.at(next_ring_++ % rings_.size()).get());
}

SocketWatch::Socket* SocketWatch::find(const os::SocketSet::Ready& ready) {
  const auto at = sockets_.find(ready.fd);
  return at == sockets_.end() || at->second.number != ready.number ? nullptr : &at->second;
}

void SocketWatch::handle(const os::SocketSet::Ready& ready) {
  const Socket* socket = find(ready);
  if (socket == nullptr) return;
  const bool readable = ready.readable && socket->reading;
  const bool writable = ready.writable && socket->writing;
  if (readable || writable) on_ready_(ready.fd, readable, writable);
}

void SocketWatch::attend_to_prompt() {
  std::array<os::SocketSet::Ready, at_once> ready;
  const std::size_t count = prompt_.collect(ready);
  for (std::size_t i = 0; i < count; ++i) handle(ready[i]);
}

void SocketWatch::begin_turn(Ring& ring) {
  ++ring.turn;
  go_on(ring);
}

void SocketWatch::go_on(Ring& ring) {
  attend_to_prompt();
  std::array<os::SocketSet::Ready, at_once> ready;
  const std::size_t count = ring.set.collect(ready);
  for (std::size_t i = 0; i < count; ++i) {
    if (Socket* socket = find(ready[i])) {
      socket->times = std::exchange(socket->turn, ring.turn) == ring.turn ? socket->times + 1 : 1;
      if (socket->times >= too_often) move(ready[i].fd, *socket, nullptr);
    }
    handle(ready[i]);
  }
  if (count == 0) return end_turn(ring);
  // What others have posted comes in between.
  loop_.post([weak = std::weak_ptr(self_), &ring] {
    if (const auto self = weak.lock()) (*self)->go_on(ring);
  });
}

void SocketWatch::end_turn(Ring& ring) {
  using Clock = os::Timer::Clock;
  const Clock::duration pace = pace_();
  if (pace.count() == 0) return ring.set.watch();
  // The turns of the rings are spread evenly.
  const Clock::duration now = Clock::now().time_since_epoch();
  const Clock::duration shift =
      pace * static_cast<Clock::rep>(ring.number) / static_cast<Clock::rep>(ring_count);
  Clock::duration next = ((now - shift) / pace + 1) * pace + shift;
  if (next - now < pace / 2) next += pace;
  ring.timer.start_at(Clock::time_point(next));
}

}  // namespace millrace::net
