#include "store/failing_memory.hpp"

#include <sqlite3.h>

namespace millrace::store {
namespace {

struct Plan {
  bool is_on = false;
  int count = 0;
  int at = 0;  // 0: none
  bool is_for_good = false;
};
thread_local Plan plan;

sqlite3_mem_methods real;

bool fails() {
  if (!plan.is_on) return false;
  ++plan.count;
  if (plan.at == 0) return false;
  return plan.count == plan.at || (plan.is_for_good && plan.count > plan.at);
}

void* allocate(int size) {
  return fails() ? nullptr : real.xMalloc(size);
}

void* resize(void* memory, int size) {
  return fails() ? nullptr : real.xRealloc(memory, size);
}

// SQLite takes other functions only before its first use.
const bool is_installed = [] {
  sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real);
  sqlite3_mem_methods failing = real;
  failing.xMalloc = allocate;
  failing.xRealloc = resize;
  return sqlite3_config(SQLITE_CONFIG_MALLOC, &failing) == SQLITE_OK;
}();

}  // namespace

FailingMemory::FailingMemory() : FailingMemory(0, false) {}

FailingMemory::FailingMemory(int at, bool is_for_good) {
  plan = {is_installed, 0, at, is_for_good};
}

FailingMemory::~FailingMemory() {
  plan.is_on = false;
}

int FailingMemory::count() const {
  return plan.count;
}

}  // namespace millrace::store
