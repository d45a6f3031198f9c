// How other processes reach the one that has a store: an HTTP endpoint on loopback, for the command
// line of the same user.
//
// GET    /runs/<id>                       the run (run::describe_run)
// DELETE /runs/<id>?reason=               stops it; the run, 202
// POST   /runs/<id>/approvals/<approval>  AG-UI's resume entry without its id; the run
//
// Each request carries `Authorization: Bearer <token>`. Address and token are in the file
// <store>.control, which its user alone can read: {"pid": string, "url", "token"}. It counts only
// while the process that it names has the store's lock.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.hpp"

namespace millrace::os {
class EventLoop;
}
namespace millrace::run {
class RunRequests;
}

namespace millrace::app {

class StoreControl {
 public:
  // Gives the runs of the process, or nullptr when there are none any more.
  // Thread: engine thread.
  using Requests = std::function<std::shared_ptr<run::RunRequests>()>;

  // `storage` is "file:" and a path; a store in memory has no endpoint and gives nullptr. Opens
  // while the process has the store.
  // Errors: those of http::Server::listen; store_failed when the file cannot be written.
  // Thread: any. Lifetime: must end before the loop does.
  static Result<std::unique_ptr<StoreControl>> open(os::EventLoop& loop, const std::string& storage,
                                                    Requests requests);
  // Removes the file and closes all connections.
  ~StoreControl();
  StoreControl(const StoreControl&) = delete;
  StoreControl& operator=(const StoreControl&) = delete;

 private:
  struct Endpoint;
  explicit StoreControl(std::unique_ptr<Endpoint> endpoint);
  std::unique_ptr<Endpoint> endpoint_;
};

}  // namespace millrace::app
