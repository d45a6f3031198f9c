#include "run/durable/run_owners.hpp"

#include <map>
#include <mutex>
#include <utility>

#include "os/event_loop.hpp"

namespace millrace::run::run_owners {
namespace {

using Key = std::pair<const store::Writer*, std::string>;

struct Owner {
  os::EventLoop* loop = nullptr;
  std::weak_ptr<RunRegistry> registry;
};

struct Owners {
  std::mutex mutex;
  std::map<Key, Owner> all;
};

// Never destroyed: environments may close their stores while the process ends.
Owners& owners() {
  static Owners& made = *new Owners;
  return made;
}

void post_to(const Owner& owner, Work work) {
  owner.loop->post([registry = owner.registry, work = std::move(work)] {
    if (const auto self = registry.lock()) work(*self);
  });
}

}  // namespace

void join(const store::Writer& writer, const std::string& owner, os::EventLoop& loop,
          std::weak_ptr<RunRegistry> registry) {
  const std::lock_guard lock(owners().mutex);
  owners().all.insert_or_assign(Key(&writer, owner), Owner{&loop, std::move(registry)});
}

void leave(const store::Writer& writer, const std::string& owner) {
  const std::lock_guard lock(owners().mutex);
  owners().all.erase(Key(&writer, owner));
}

bool post(const store::Writer& writer, const std::string& owner, Work work) {
  // Its loop is there for as long as the lock is held.
  const std::lock_guard lock(owners().mutex);
  const auto found = owners().all.find(Key(&writer, owner));
  if (found == owners().all.end()) return false;
  post_to(found->second, std::move(work));
  return true;
}

void post_others(const store::Writer& writer, const std::string& owner, const Work& work) {
  const std::lock_guard lock(owners().mutex);
  for (const auto& [key, other] : owners().all) {
    if (key.first == &writer && key.second != owner) post_to(other, work);
  }
}

}  // namespace millrace::run::run_owners
