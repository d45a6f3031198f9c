// A request of a tRPC client gives the calls that its path names, each with its own input.
#include <algorithm>
#include <string>

#include "api/trpc_calls.hpp"
#include "fuzz_support.hpp"

using namespace millrace;

namespace {

void check_calls(std::string_view names, bool is_batch, std::string_view input) {
  const auto calls = api::read_trpc_calls(names, is_batch, input);
  if (!calls) return;
  fuzz::require(calls.value().size() <= api::most_trpc_calls, "no more calls than allowed");
  fuzz::require(is_batch || calls.value().size() == 1, "without a batch there is one call");
  std::string joined;
  for (const api::TrpcCall& call : calls.value()) {
    if (&call != calls.value().data()) joined.push_back(',');
    joined.append(call.path);
    fuzz::require(call.has_superjson || call.input.is_object(), "a plain input is an object");
  }
  fuzz::require(joined == names, "the calls are those of the path, in their order");
}

}  // namespace

// The first byte says whether it is a batch; a line of names follows, and then the input.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t end = std::min(text.find('\n'), text.size());
  check_calls(text.substr(0, end), data[0] % 2 == 1, text.substr(std::min(end + 1, text.size())));
  return 0;
}
