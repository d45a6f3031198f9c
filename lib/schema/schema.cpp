#include "schema/schema.hpp"

#include <algorithm>
#include <utility>

#include "schema/compile.hpp"
#include "schema/decimal.hpp"
#include "schema/evaluate.hpp"
#include "schema/program.hpp"

namespace millrace::schema {

void append_canonical(std::string& out, const json::Value& value) {
  if (value.is_number()) {
    out.append(read_decimal(value.number_text()).text());
  } else if (value.is_array()) {
    out.push_back('[');
    for (const json::Value item : value.items()) {
      append_canonical(out, item);
      out.push_back(',');
    }
    out.push_back(']');
  } else if (value.is_object()) {
    std::vector<json::Member> members;
    for (const json::Member& member : value.members()) members.push_back(member);
    std::stable_sort(members.begin(), members.end(),
                     [](const auto& a, const auto& b) { return a.key < b.key; });
    out.push_back('{');
    for (std::size_t i = 0; i < members.size(); ++i) {
      // Of a repeated key the last counts.
      if (i + 1 < members.size() && members[i + 1].key == members[i].key) continue;
      json::append_string(out, members[i].key, json::Surrogates::keep);
      out.push_back(':');
      append_canonical(out, members[i].value);
      out.push_back(',');
    }
    out.push_back('}');
  } else {
    value.write(out, json::Surrogates::keep);
  }
}

Result<Schema> Schema::compile(std::string_view schema_json) {
  auto program = std::make_shared<Program>();
  auto parsed = program->document.parse(schema_json);
  if (!parsed) return std::move(parsed).error();
  MILLRACE_TRY(Compiler(*program).run(parsed.value()));
  return Schema(std::move(program));
}

Result<std::vector<Violation>> Schema::validate(const json::Value& value,
                                                const Limits& limits) const {
  return Evaluation(*program_, limits).run(value);
}

std::string describe(const std::vector<Violation>& violations) {
  std::string out;
  for (const Violation& violation : violations) {
    if (!out.empty()) out.push_back('\n');
    out.append(violation.path.empty() ? "(the whole value)" : violation.path);
    out.append(": ").append(violation.keyword).append(": ").append(violation.message);
  }
  return out;
}

}  // namespace millrace::schema
