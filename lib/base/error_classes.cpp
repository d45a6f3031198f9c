#include "base/error_classes.hpp"

#include <algorithm>
#include <array>

namespace millrace {
namespace {

constexpr std::array private_details{
#define MILLRACE_PRIVATE_DETAIL(error_type) ErrorType::error_type,
#include "base/error_classes.def"
};

struct ClassName {
  std::string_view name;
  ErrorType type;
};
constexpr std::array class_names{
#define MILLRACE_ERROR_TYPE(error_type, id, http_status, retryable) \
  ClassName{#error_type, ErrorType::error_type},
#include "base/errors.def"
#define MILLRACE_OLDER_CLASS(name, error_type) ClassName{#name, ErrorType::error_type},
#include "base/error_classes.def"
};

}  // namespace

bool has_private_detail(ErrorType type) {
  return std::find(private_details.begin(), private_details.end(), type) != private_details.end();
}

std::optional<ErrorType> error_type_of(std::string_view name) {
  const auto* row = std::find_if(class_names.begin(), class_names.end(),
                                 [name](const ClassName& known) { return known.name == name; });
  return row == class_names.end() ? std::nullopt : std::optional(row->type);
}

}  // namespace millrace
