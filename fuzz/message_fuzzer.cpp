// Message formats, the fold of events and the repair of histories: whatever is read is written as
// messages that can be read again, go into every format, and are a valid history once repaired.
//
// The first byte chooses what the rest is: the data of one format, or a list of AG-UI events.
#include "format/format.hpp"
#include "fuzz_support.hpp"
#include "message/fold.hpp"
#include "message/history.hpp"

using namespace millrace;

namespace {

// What a conversion gives, or "" where nesting alone stands against it.
std::string given(const Result<std::string>& result) {
  if (result) return result.value();
  fuzz::require(result.error().code == Errc::json_too_deep, "what was written can be read");
  return {};
}

void check(const std::string& messages_json) {
  auto messages = message::parse_messages(messages_json);
  fuzz::require(messages.ok(), "the messages can be read");
  CountingIds ids("id-");
  (void)message::repair_history(messages.value(), ids);
  fuzz::require(message::check_history(messages.value()).ok(), "a repaired history is valid");
  for (const format::Format& format : format::formats()) {
    const std::string api = given(format::to_api(format, message::to_json(messages.value())));
    if (!api.empty()) (void)given(format::from_api(format, api, ids));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto formats = format::formats();
  const std::size_t choice = data[0] % (formats.size() + 1);
  CountingIds ids("id-");
  if (choice < formats.size()) {
    const auto messages = format::from_api(formats[choice], text, ids);
    if (messages) check(messages.value());
    return 0;
  }
  message::Folder folder(ids);
  if (folder.feed(text)) check(folder.messages_json());
  return 0;
}
