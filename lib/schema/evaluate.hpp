// One value against one Program. Private to this room.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schema/program.hpp"
#include "schema/schema.hpp"

namespace millrace::schema {

// Which members and items a schema has looked at, for the keywords `unevaluated...`.
struct Evaluated {
  std::vector<std::string_view> names;
  std::vector<bool> items;
  bool all_names = false;
  bool all_items = false;

  [[nodiscard]] bool has(std::string_view name) const;
  [[nodiscard]] bool has(std::size_t item) const;
  void add(std::size_t item);
  void merge(const Evaluated& other);
};

class Evaluation {
 public:
  Evaluation(const Program& program, const Limits& limits) : program_(program), limits_(limits) {}

  // Errors: schema_too_complex.
  Result<std::vector<Violation>> run(const json::Value& value);

  // What the keywords' rows call.
  // Whether `value` follows the node; what it does not is told.
  bool check(NodeId node, const json::Value& value, Evaluated* evaluated);
  // The same for a part of the value at hand.
  bool check_at(std::string_view step, NodeId node, const json::Value& value);
  // The same for a member, which may count as left out.
  bool check_member(std::string_view step, NodeId node, const json::Value& value);
  // The same without telling.
  bool holds(NodeId node, const json::Value& value, Evaluated* evaluated);
  // The same; what is wrong is given instead of told.
  bool try_branch(NodeId node, const json::Value& value, Evaluated* evaluated,
                  std::vector<Violation>& violations);
  void report(const std::vector<Violation>& violations);
  // Whether a null member that a schema refuses counts as left out; if so, it is noted.
  bool leave_out(std::string_view step, const json::Value& value);
  // What was left out since `mark`, which is forgotten; and what a branch left out, noted again.
  std::vector<std::string> take_left_out(std::size_t mark);
  void leave_out(const std::vector<std::string>& paths);
  [[nodiscard]] bool leaves_out() const { return limits_.left_out != nullptr && !strictly_; }
  [[nodiscard]] std::size_t left_out_count() const { return left_out_.size(); }

  // Tells that the check is not met; always false.
  bool fail(const Check& check, std::string message);
  bool fail_at(std::string_view step, const Check& check, std::string message);
  // True when it costs too much; its caller returns false then.
  bool spend(std::size_t work);
  bool matches(const Pattern& pattern, std::string_view text);
  [[nodiscard]] bool stopped() const { return !stopped_.empty(); }
  // Whether further violations are of use.
  [[nodiscard]] bool wants_more() const {
    return violations_ != nullptr && violations_->size() < limits_.violations;
  }
  [[nodiscard]] bool asserts_formats() const { return limits_.formats; }
  [[nodiscard]] bool tracks() const { return program_.tracks_evaluated; }
  [[nodiscard]] const std::string& path() const { return path_; }
  // The node that a dynamic anchor names, seen from where evaluation began.
  [[nodiscard]] NodeId dynamic_node(const std::string& anchor, NodeId otherwise) const;

 private:
  void stop(std::string why);
  bool keeps_required(const Node& node);

  const Program& program_;
  const Limits& limits_;
  std::vector<Violation>* violations_ = nullptr;
  std::vector<std::uint32_t> scope_;
  std::string path_;
  std::string stopped_;
  std::vector<std::string> left_out_;
  bool strictly_ = false;  // nothing may be left out
  std::size_t depth_ = 0;
  std::size_t work_ = 0;
};

}  // namespace millrace::schema
