// What JavaScript asks of a runtime's storage.
#include "host/runtime_stream.hpp"
#include "run/durable/chat_storage.hpp"

namespace millrace::host {

bool RuntimeStream::has_storage_command(std::string_view name) {
  return run::front::find_work(name) != nullptr;
}

void RuntimeStream::do_storage(std::string_view name, const json::Tree& options,
                               const Reply& reply) {
  with_store<Result<json::Tree>>(
      [work = run::front::find_work(name), options](store::StorageBackend& backend) {
        return work(backend, options);
      },
      reply);
}

}  // namespace millrace::host
