// Work on the thread of the store whose result comes back to the engine thread.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "os/event_loop.hpp"
#include "store/writer.hpp"

namespace millrace::store {

// Calls `done` on the engine thread with what `work` gives. `done` and what it holds end there, as
// its users are of that thread; `work` ends on the store's. Nothing is reported once the loop is
// gone.
template <class T>
void on_store(Writer& writer, os::EventLoop& loop, std::function<T(StorageBackend&)> work,
              std::function<void(T)> done, void (Writer::*how)(Writer::Work) = &Writer::run) {
  (writer.*how)([loop = loop.handle(), work = std::move(work),
                 done = std::move(done)](StorageBackend& backend) mutable {
    const auto given = std::make_shared<T>(work(backend));
    loop.post([given, done = std::move(done)] { done(std::move(*given)); });
  });
}

// Stores a thread that nobody knows yet (Writer::put_thread). `done` is called, and ends, on the
// engine thread.
inline void put_thread(Writer& writer, os::EventLoop& loop, Writer::MakeThread make,
                       std::function<void(const Result<void>&)> done) {
  writer.put_thread(std::move(make), [loop = loop.handle(),
                                      done = std::move(done)](const Result<void>& stored) mutable {
    loop.post([stored, done = std::move(done)] { done(stored); });
  });
}

}  // namespace millrace::store
