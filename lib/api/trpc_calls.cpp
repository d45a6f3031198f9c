#include "api/trpc_calls.hpp"

#include <algorithm>
#include <utility>

namespace millrace::api {
namespace {

using json::Tree;

// What a call takes: with superjson it is in {"json"}, also where the client says nothing of it.
TrpcCall call_of(std::string_view path, const Tree& input) {
  TrpcCall call;
  call.path = path;
  const bool is_plain = input.is_object() && input["json"].is_null() && !input.members().empty();
  call.has_superjson = !is_plain;
  call.input = is_plain ? input : input["json"];
  return call;
}

}  // namespace

Result<std::vector<TrpcCall>> read_trpc_calls(std::string_view names, bool is_batch,
                                              std::string_view input) {
  const auto inputs = input.empty() ? Result<Tree>(Tree()) : Tree::parse(input);
  if (!inputs) return make_error(Errc::invalid_body, "The input is no JSON");
  std::vector<TrpcCall> calls;
  if (!is_batch) {
    calls.push_back(call_of(names, inputs.value()));
    return calls;
  }
  const auto count = static_cast<std::size_t>(std::count(names.begin(), names.end(), ',')) + 1;
  if (count > most_trpc_calls) {
    return make_error(Errc::invalid_body, "The batch has too many calls");
  }
  while (calls.size() < count) {
    const std::size_t end = std::min(names.find(','), names.size());
    calls.push_back(call_of(names.substr(0, end), inputs.value()[std::to_string(calls.size())]));
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return calls;
}

}  // namespace millrace::api
