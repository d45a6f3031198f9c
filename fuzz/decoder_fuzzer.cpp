// Any bytes on any wire give a legal AG-UI run in UTF-8, the same however the bytes are cut.
#include <string>

#include "adapter/decoder.hpp"
#include "base/utf8.hpp"
#include "encoder/ag_ui.hpp"
#include "fuzz_support.hpp"
#include "support/ag_ui_rules.hpp"

using namespace millrace;

namespace {

std::string run(const adapter::Wire& wire, std::string_view bytes, int seed) {
  CountingIds ids("id-");
  encoder::AgUiEncoder encoder({"thread", "run", "", "1.0"});
  adapter::Decoder decoder(wire, {}, ids, encoder);
  encoder.start();
  if (seed < 0) {
    (void)decoder.feed(bytes);
  } else {
    fuzz::feed_in_pieces(bytes, static_cast<std::uint8_t>(seed),
                         [&](std::string_view piece) { (void)decoder.feed(piece); });
  }
  (void)decoder.finish();
  encoder.finish();
  return encoder.take();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const auto wires = adapter::wires();
  const adapter::Wire& wire = wires[data[1] % wires.size()];
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::string whole = run(wire, bytes, -1);
  fuzz::require(utf8::is_valid(whole), "the output is UTF-8");
  test::AgUiRules rules;
  rules.check_stream(whole);
  fuzz::require(rules.broken().empty(), rules.broken().c_str());
  fuzz::require(run(wire, bytes, data[0]) == whole, "the events do not depend on the cuts");
  return 0;
}
