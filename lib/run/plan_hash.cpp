#include "run/plan_hash.hpp"

#include <utility>

#include "base/json_tree.hpp"
#include "base/sha256.hpp"

namespace millrace::run {
namespace {

using json::Tree;

constexpr std::size_t hash_digits = 16;

void leave_out_providers(Tree& plan) {
  if (Tree* chain = plan.find("chain")) {
    Tree models = Tree::array();
    for (const Tree& row : chain->items()) models.push(row["model"]);
    *chain = std::move(models);
  }
  if (Tree* agents = plan.find("agents")) {
    for (Tree& agent : agents->items()) {
      if (Tree* own = agent.find("plan")) leave_out_providers(*own);
    }
  }
}

}  // namespace

std::string plan_hash(std::string_view plan_json) {
  auto plan = Tree::parse(plan_json);
  if (!plan) return {};
  leave_out_providers(plan.value());
  return sha256_hex(plan.value().to_json()).substr(0, hash_digits);
}

}  // namespace millrace::run
