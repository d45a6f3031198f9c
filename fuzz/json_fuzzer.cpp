// What the JSON reader accepts, it writes as JSON that it reads again to the same text, and what it
// read before changes nothing: the lines of the input are read one after the other.
#include "base/json.hpp"
#include "base/json_repair.hpp"
#include "base/utf8.hpp"
#include "fuzz_support.hpp"

using namespace millrace;

namespace {

std::string outcome(json::Document& document, std::string_view text) {
  const auto value = document.parse(text);
  return value ? value.value().to_json(json::Surrogates::keep) : value.error().message;
}

void read_lines(std::string_view text) {
  json::Document used;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    json::Document fresh;
    const std::string_view line = text.substr(0, end);
    fuzz::require(outcome(used, line) == outcome(fresh, line), "a document forgets");
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void repair(std::string_view text) {
  const auto repaired = json::repair_object(text);
  if (!repaired) return;
  json::Document document;
  const auto value = document.parse(repaired->json);
  fuzz::require(value && value.value().is_object(), "a repaired text is an object");
  fuzz::require(!repaired->what.empty(), "a repair is named");
  fuzz::require(!json::repair_object(repaired->json), "a repaired text needs no repair");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  json::Document document;
  const auto value = document.parse(text);
  (void)json::looks_complete(text);
  read_lines(text);
  repair(text);
  if (!value) return 0;
  const std::string retained = value.value().to_json(json::Surrogates::keep);
  const std::string replaced = value.value().to_json(json::Surrogates::replace);
  fuzz::require(utf8::is_valid(retained) && utf8::is_valid(replaced), "the output is UTF-8");
  json::Document again;
  const auto second = again.parse(retained);
  fuzz::require(second.ok(), "the output is JSON");
  fuzz::require(second.value().to_json(json::Surrogates::keep) == retained, "the output is stable");
  return 0;
}
