// Dialects whose messages have no format yet.

#include "model/body/bodies.hpp"
#include "model/body/fields.hpp"

namespace millrace::model {
namespace {

Result<std::string> no_format(const Draft& draft) {
  return not_supported(draft, "its message format is not there.");
}

}  // namespace

Result<std::string> ollama_body(const Draft& draft) {
  return no_format(draft);
}
Result<std::string> bedrock_converse_body(const Draft& draft) {
  return no_format(draft);
}
Result<std::string> cohere_body(const Draft& draft) {
  return no_format(draft);
}

}  // namespace millrace::model
