// A form gives views of its bytes, in their order, whatever it is made of; a cut one is refused.
#include <string>

#include "fuzz_support.hpp"
#include "http/multipart.hpp"

using namespace millrace;

namespace {

void check_parts(std::string_view form, const std::vector<http::FormPart>& parts) {
  const char* at = form.data();
  for (const http::FormPart& part : parts) {
    fuzz::require(!part.name.empty(), "a part has a name");
    fuzz::require(part.body.data() >= at, "parts are in their order");
    at = part.body.data() + part.body.size();
    fuzz::require(at <= form.data() + form.size(), "a body is within the form");
    fuzz::require(part.body.find("\r\n--b") == std::string_view::npos, "a boundary ends a body");
  }
}

}  // namespace

// The first byte says how much is cut off, the rest is a form, and a Content-Type.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view form(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (const auto boundary = http::form_boundary(form)) {
    fuzz::require(!boundary->empty() && boundary->size() <= 70, "a boundary has 1 to 70 bytes");
  }
  const http::FormLimits limits{8, 256};
  const auto parts = http::parse_form(form, "b", limits);
  if (!parts) return 0;
  fuzz::require(parts.value().size() <= limits.part_count, "no more parts than allowed");
  check_parts(form, parts.value());
  // Where the form ends early, no part is longer than it was.
  const auto cut = http::parse_form(form.substr(0, form.size() - data[0] % size), "b", limits);
  if (!cut) return 0;
  fuzz::require(cut.value().size() <= parts.value().size(), "a cut form has no more parts");
  check_parts(form, cut.value());
  return 0;
}
