// The order in which the runs of a principal open: one whose large input is read elsewhere keeps
// its place, so that the next run of its thread stays the next one.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace millrace::host {

// The thread of a run is in its input, and not known before that is read: the runs of a principal
// wait for each other whatever their threads.
// Thread: engine thread.
class OpeningOrder {
 public:
  struct Waiting {
    std::string principal;
    std::function<void()> open = {};  // once its input is read
  };
  using Place = std::shared_ptr<Waiting>;

  // A place behind all earlier ones of the principal. `open` has to be called for it once: those
  // behind it wait for that.
  Place enter(std::string principal) {
    auto place = std::make_shared<Waiting>();
    place->principal = std::move(principal);
    places_[place->principal].push_back(place);
    return place;
  }

  // Calls `open` when all before it have called theirs, at once where there are none.
  void open(const Place& place, std::function<void()> open) {
    place->open = std::move(open);
    const std::string principal = place->principal;
    for (auto at = places_.find(principal); at != places_.end(); at = places_.find(principal)) {
      const Place next = at->second.front();
      if (!next->open) return;
      at->second.pop_front();
      if (at->second.empty()) places_.erase(at);
      std::exchange(next->open, {})();
    }
  }

 private:
  std::map<std::string, std::deque<Place>> places_;  // none is empty
};

}  // namespace millrace::host
