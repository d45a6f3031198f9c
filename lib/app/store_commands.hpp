// What `millrace runs` and `millrace storage` do with a store: commands by name, JSON in and out.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/json_tree.hpp"
#include "base/result.hpp"

namespace millrace::app {

// How many rows long work has come through, now and then.
using StoreProgress = std::function<void(std::uint64_t rows)>;

// Carries out `options["command"]` on `options["storage"]`, "file:" and a path, which is closed
// again. Commands that only read work beside the owner of the store.
//
// command   further options                          result
// runs      query: of read_run_query                 run_list, "owner"?: process id
// run       id                                       report_run, "owner"?
// records   id, after                                read_records_json
// messages  id                                       read_given_messages
// replay    id, as, version, and path or fd          {"bytes"}; as run::replay_run
// owner     -                                        {"pid"?, "url"?, "token"?}: who has the store,
//                                                    and its control endpoint
// stop      id, reason                               describe_run
// approve   id, approval, entry: AG-UI's resume      describe_run
//           entry without its id
// fork      id, fork: of read_fork                   describe_run of the new run
// check     -                                        {"problems": [{"run"?, "what"}]}
// backup    path                                     {"path", "bytes"}
// vacuum    -                                        {"bytesBefore", "bytesAfter"}
// export    path, or fd                              {"rows", "bytes"}
// import    path, or fd                              {"rows"}
// import-undefined  path, principal                  import_undefined
//
// Commands that write take "openTimeoutMs"; all take "allowNetworkFileSystem".
// Blocks.
// Errors: those of open_store; run_not_found; approval_answered, approval_mismatch; invalid_option
// for a path that is there already, or is not; invalid_argument for a damaged line of an import,
// with its number.
// Thread: any.
Result<std::string> run_store_command(const json::Tree& options, const StoreProgress& progress);

}  // namespace millrace::app
