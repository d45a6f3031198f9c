#include "schema/evaluate.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "schema/keywords.hpp"
#include "schema/uri.hpp"

namespace millrace::schema {
namespace {

// What one search for a pattern costs besides its text: far more than looking at a value.
constexpr std::size_t pattern_work = 2'000;
constexpr std::size_t node_work = 5;
constexpr std::size_t violation_work = 40;

bool applies_to(Applies applies, const json::Value& value) {
  switch (applies) {
    case Applies::any: return true;
    case Applies::object: return value.is_object();
    case Applies::array: return value.is_array();
    case Applies::string: return value.is_string();
    case Applies::number: return value.is_number();
  }
  return false;
}

}  // namespace

bool Evaluated::has(std::string_view name) const {
  return all_names || std::find(names.begin(), names.end(), name) != names.end();
}

bool Evaluated::has(std::size_t item) const {
  return all_items || (item < items.size() && items[item]);
}

void Evaluated::add(std::size_t item) {
  if (items.size() <= item) items.resize(item + 1);
  items[item] = true;
}

void Evaluated::merge(const Evaluated& other) {
  all_names = all_names || other.all_names;
  all_items = all_items || other.all_items;
  for (const std::string_view name : other.names) {
    if (!has(name)) names.push_back(name);
  }
  for (std::size_t i = 0; i < other.items.size(); ++i) {
    if (other.items[i]) add(i);
  }
}

Result<std::vector<Violation>> Evaluation::run(const json::Value& value) {
  std::vector<Violation> violations;
  violations_ = &violations;
  check(program_.root, value, nullptr);
  if (stopped()) return make_error(Errc::schema_too_complex, stopped_);
  if (limits_.left_out != nullptr) *limits_.left_out = std::move(left_out_);
  return violations;
}

bool Evaluation::check(NodeId id, const json::Value& value, Evaluated* evaluated) {
  if (stopped() || spend(node_work)) return false;
  if (++depth_ > limits_.depth) {
    stop("The schema is nested deeper than the limit, or refers to itself without an end.");
  }
  const Node& node = program_.nodes[id];
  if (node.rejects && wants_more()) {
    violations_->push_back({path_, "false", "nothing is allowed here"});
  }
  Evaluated own;
  const bool enters = scope_.empty() || scope_.back() != node.resource;
  if (enters) scope_.push_back(node.resource);
  bool good = !node.rejects;
  for (const Check& one : node.checks) {
    if (stopped() || (!good && !wants_more())) break;
    if (!applies_to(one.keyword->applies, value)) continue;
    good = one.keyword->holds(*this, one, value, tracks() ? &own : nullptr) && good;
  }
  if (good && !left_out_.empty()) good = keeps_required(node);
  if (enters) scope_.pop_back();
  --depth_;
  if (stopped()) return false;
  if (good && evaluated != nullptr) {
    if (spend(own.names.size() * (evaluated->names.size() + 1))) return false;
    evaluated->merge(own);
  }
  return good;
}

bool Evaluation::check_at(std::string_view step, NodeId node, const json::Value& value) {
  const std::size_t size = path_.size();
  path_.append("/").append(pointer_step(step));
  const bool good = check(node, value, nullptr);
  path_.resize(size);
  return good;
}

bool Evaluation::check_member(std::string_view step, NodeId node, const json::Value& value) {
  const bool may_leave_out = leaves_out() && value.is_null();
  if (may_leave_out && !holds(node, value, nullptr) && leave_out(step, value)) return true;
  return check_at(step, node, value);
}

bool Evaluation::holds(NodeId node, const json::Value& value, Evaluated* evaluated) {
  auto* reported = std::exchange(violations_, nullptr);
  const bool strictly = std::exchange(strictly_, true);
  const bool good = check(node, value, evaluated);
  strictly_ = strictly;
  violations_ = reported;
  return good;
}

bool Evaluation::try_branch(NodeId node, const json::Value& value, Evaluated* evaluated,
                            std::vector<Violation>& violations) {
  if (violations_ == nullptr) return check(node, value, evaluated);
  auto* reported = std::exchange(violations_, &violations);
  const bool good = check(node, value, evaluated);
  violations_ = reported;
  return good;
}

void Evaluation::report(const std::vector<Violation>& violations) {
  for (const Violation& violation : violations) {
    if (wants_more()) violations_->push_back(violation);
  }
}

bool Evaluation::leave_out(std::string_view step, const json::Value& value) {
  if (!leaves_out() || stopped() || !value.is_null()) return false;
  left_out_.push_back(path_ + "/" + pointer_step(step));
  return !spend(violation_work);
}

std::vector<std::string> Evaluation::take_left_out(std::size_t mark) {
  const auto first = std::next(left_out_.begin(), static_cast<std::ptrdiff_t>(mark));
  std::vector<std::string> taken(first, left_out_.end());
  left_out_.resize(mark);
  return taken;
}

void Evaluation::leave_out(const std::vector<std::string>& paths) {
  left_out_.insert(left_out_.end(), paths.begin(), paths.end());
}

// What is demanded cannot be left out, whichever of the two keywords stands first.
bool Evaluation::keeps_required(const Node& node) {
  bool good = true;
  for (const Check& one : node.checks) {
    if (one.keyword->name != "required" || stopped()) continue;
    for (const std::string& name : one.names) {
      if (spend(left_out_.size())) return false;
      if (std::erase(left_out_, path_ + "/" + pointer_step(name)) == 0) continue;
      good = fail(one, "the member \"" + name + "\" must not be null");
    }
  }
  return good;
}

bool Evaluation::fail(const Check& check, std::string message) {
  if (wants_more() && !spend(violation_work)) {
    violations_->push_back({path_, std::string(check.keyword->name), std::move(message)});
  }
  return false;
}

bool Evaluation::fail_at(std::string_view step, const Check& check, std::string message) {
  const std::size_t size = path_.size();
  path_.append("/").append(pointer_step(step));
  fail(check, std::move(message));
  path_.resize(size);
  return false;
}

bool Evaluation::spend(std::size_t work) {
  work_ += work;
  if (work_ > limits_.work)
    stop("Validating the value against the schema needs more than " + std::to_string(limits_.work) +
         " steps.");
  return stopped();
}

bool Evaluation::matches(const Pattern& pattern, std::string_view text) {
  if (spend(pattern_work + text.size() * std::max<std::size_t>(pattern.cost(), 1))) return false;
  const auto found = pattern.found_in(text);
  if (!found) stop("A pattern of the schema needs too many steps on a text of the value.");
  return found.value_or(false);
}

NodeId Evaluation::dynamic_node(const std::string& anchor, NodeId otherwise) const {
  for (const std::uint32_t resource : scope_) {
    const auto& anchors = program_.resources[resource].dynamic_anchors;
    const auto found = anchors.find(anchor);
    if (found != anchors.end()) return found->second;
  }
  return otherwise;
}

void Evaluation::stop(std::string why) {
  if (stopped_.empty()) stopped_ = std::move(why);
}

}  // namespace millrace::schema
