// The frames of a stream do not depend on how its bytes are cut.
#include <string>

#include "framing/ndjson.hpp"
#include "framing/sse.hpp"
#include "fuzz_support.hpp"

using namespace millrace;

namespace {

class Frames final : public framing::FrameSink {
 public:
  void on_frame(const framing::Frame& frame) override {
    for (const std::string_view part : {frame.event, frame.data, frame.id}) {
      text.append(std::to_string(part.size())).append(":").append(part);
    }
  }
  std::string text;
};

template <class Make>
void compare(std::string_view bytes, std::uint8_t seed, Make make) {
  Frames whole;
  Frames cut;
  auto first = make();
  auto second = make();
  bool ok = first.feed(bytes, whole).ok();
  bool cut_ok = true;
  fuzz::feed_in_pieces(bytes, seed, [&](std::string_view piece) {
    if (cut_ok) cut_ok = second.feed(piece, cut).ok();
  });
  fuzz::require(ok == cut_ok, "the limits do not depend on the cuts");
  if (!ok) return;
  (void)first.finish(whole);
  (void)second.finish(cut);
  fuzz::require(whole.text == cut.text, "the frames do not depend on the cuts");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::uint8_t seed = data[0];
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const framing::FramingLimits limits{256, 512};
  switch (data[1] % 4) {
    case 0: compare(bytes, seed, [&] { return framing::NdjsonFraming(limits); }); break;
    case 1:
      compare(bytes, seed,
              [&] { return framing::SseFraming(framing::SseDispatch::blank_line, limits); });
      break;
    case 2:
      compare(bytes, seed,
              [&] { return framing::SseFraming(framing::SseDispatch::complete_json, limits); });
      break;
    default:
      compare(bytes, seed,
              [&] { return framing::SseFraming(framing::SseDispatch::blank_line_or_end, limits); });
  }
  return 0;
}
