// The environments of this process that have a store open: who works on a run that is another
// one's.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "store/writer.hpp"

namespace millrace::os {
class EventLoop;
}

namespace millrace::run {

class RunRegistry;

// Thread: any.
namespace run_owners {

using Work = std::function<void(RunRegistry& registry)>;

// `registry` can be reached by its owner's name until `leave`.
// Lifetime: the loop outlives that.
void join(const store::Writer& writer, const std::string& owner, os::EventLoop& loop,
          std::weak_ptr<RunRegistry> registry);
void leave(const store::Writer& writer, const std::string& owner);
// Has the owner do something on its own thread. False where it is none of this process.
bool post(const store::Writer& writer, const std::string& owner, Work work);
// Has all others but that one do something.
void post_others(const store::Writer& writer, const std::string& owner, const Work& work);

}  // namespace run_owners
}  // namespace millrace::run
