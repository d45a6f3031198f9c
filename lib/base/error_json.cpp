#include "base/error_json.hpp"

#include <array>

#include "base/error_classes.hpp"
#include "base/json.hpp"

namespace millrace {

std::string error_json(const Error& error) {
  constexpr std::array<std::string_view, 3> retry_names{"no", "yes", "later"};
  std::string out = "{";
  json::append_member(out, "code", error.code_name());
  json::append_member(out, "message", error.message);
  if (!error.detail.empty()) json::append_member(out, "detail", error.detail);
  if (error.upstream_status) {
    json::append_member(out, "status", std::int64_t{*error.upstream_status});
  }
  json::append_member(out, "retry", retry_names[static_cast<std::size_t>(error.retry())]);
  if (error.retry_after) {
    json::append_member(out, "retryAfterMs", std::int64_t{error.retry_after->count()});
  }
  if (!error.request_id.empty()) json::append_member(out, "requestId", error.request_id);
  out.push_back('}');
  return out;
}

Error for_clients(Error error) {
  if (has_private_detail(row_of(error.code).type)) error.detail.clear();
  return error;
}

}  // namespace millrace
