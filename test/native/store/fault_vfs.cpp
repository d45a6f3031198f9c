#include "store/fault_vfs.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace millrace::store {
namespace {

constexpr std::size_t sector = 512;

struct OpenFile {
  sqlite3_file base;
  FaultVfs* vfs;
  FaultVfs::File* file;
};

OpenFile& of(sqlite3_file* file) {
  return *reinterpret_cast<OpenFile*>(file);
}

void change(std::string& content, const FaultVfs::Change& made) {
  const auto offset = static_cast<std::size_t>(made.offset);
  if (made.is_truncation) {
    content.resize(offset);
    return;
  }
  if (content.size() < offset + made.bytes.size()) content.resize(offset + made.bytes.size());
  std::copy(made.bytes.begin(), made.bytes.end(), content.begin() + made.offset);
}

int close_file(sqlite3_file* /*file*/) {
  return SQLITE_OK;
}

int read_file(sqlite3_file* file, void* into, int size, sqlite3_int64 offset) {
  if (of(file).vfs->is_cut()) return SQLITE_IOERR_READ;
  const std::string& content = of(file).file->content;
  const auto wanted = static_cast<std::size_t>(size);
  const auto from = std::min(static_cast<std::size_t>(offset), content.size());
  const std::size_t found = std::min(wanted, content.size() - from);
  std::memcpy(into, content.data() + from, found);
  if (found == wanted) return SQLITE_OK;
  std::memset(static_cast<char*>(into) + found, 0, wanted - found);
  return SQLITE_IOERR_SHORT_READ;
}

int write_file(sqlite3_file* file, const void* from, int size, sqlite3_int64 offset) {
  const std::string bytes(static_cast<const char*>(from), static_cast<std::size_t>(size));
  FaultVfs::Change made{offset, bytes, false};
  if (!of(file).vfs->has_room_for(*of(file).file, static_cast<std::size_t>(offset + size))) {
    return SQLITE_FULL;
  }
  const int code = of(file).vfs->count();
  if (code != SQLITE_OK) {
    // A write that fails may have been done in part.
    made.bytes.resize(made.bytes.size() / 2);
  }
  if (!of(file).vfs->is_cut() || code == SQLITE_OK) {
    change(of(file).file->content, made);
    of(file).file->unsynced.push_back(std::move(made));
  }
  return code;
}

int truncate_file(sqlite3_file* file, sqlite3_int64 size) {
  if (const int code = of(file).vfs->count(); code != SQLITE_OK) return SQLITE_IOERR_TRUNCATE;
  FaultVfs::Change made{size, {}, true};
  change(of(file).file->content, made);
  of(file).file->unsynced.push_back(std::move(made));
  return SQLITE_OK;
}

int sync_file(sqlite3_file* file, int /*flags*/) {
  if (of(file).vfs->count() != SQLITE_OK) return SQLITE_IOERR_FSYNC;
  of(file).file->durable = of(file).file->content;
  of(file).file->unsynced.clear();
  return SQLITE_OK;
}

int size_of_file(sqlite3_file* file, sqlite3_int64* size) {
  *size = static_cast<sqlite3_int64>(of(file).file->content.size());
  return SQLITE_OK;
}

int lock_file(sqlite3_file* file, int /*level*/) {
  return of(file).vfs->count_lock();
}

int unlock_file(sqlite3_file* /*file*/, int /*level*/) {
  return SQLITE_OK;
}

int check_lock(sqlite3_file* /*file*/, int* is_held) {
  *is_held = 0;
  return SQLITE_OK;
}

int control_file(sqlite3_file* /*file*/, int /*what*/, void* /*value*/) {
  return SQLITE_NOTFOUND;
}

int sector_size(sqlite3_file* /*file*/) {
  return static_cast<int>(sector);
}

int characteristics(sqlite3_file* /*file*/) {
  return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

int map_shared(sqlite3_file* file, int region, int size, int extend, void volatile** memory) {
  auto& shared = of(file).file->shared;
  const auto at = static_cast<std::size_t>(region);
  if (at >= shared.size()) {
    *memory = nullptr;
    if (extend == 0) return SQLITE_OK;
    shared.resize(at + 1);
  }
  if (shared[at].empty()) shared[at].resize(static_cast<std::size_t>(size));
  *memory = shared[at].data();
  return SQLITE_OK;
}

int lock_shared(sqlite3_file* file, int /*offset*/, int /*count*/, int flags) {
  return (flags & SQLITE_SHM_LOCK) != 0 ? of(file).vfs->count_lock() : SQLITE_OK;
}

void barrier_shared(sqlite3_file* /*file*/) {}

int unmap_shared(sqlite3_file* file, int is_deleted) {
  if (is_deleted != 0) of(file).file->shared.clear();
  return SQLITE_OK;
}

const sqlite3_io_methods io_methods{2,
                                    close_file,
                                    read_file,
                                    write_file,
                                    truncate_file,
                                    sync_file,
                                    size_of_file,
                                    lock_file,
                                    unlock_file,
                                    check_lock,
                                    control_file,
                                    sector_size,
                                    characteristics,
                                    map_shared,
                                    lock_shared,
                                    barrier_shared,
                                    unmap_shared,
                                    nullptr,
                                    nullptr};

FaultVfs& fault_vfs(sqlite3_vfs* vfs) {
  return *static_cast<FaultVfs*>(vfs->pAppData);
}

int open_file(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* given) {
  FaultVfs& faults = fault_vfs(vfs);
  auto* made = reinterpret_cast<OpenFile*>(file);
  made->base.pMethods = nullptr;
  if (faults.is_cut()) return SQLITE_IOERR;
  ++faults.opens;
  const std::string key = name != nullptr ? name : "temporary";
  if (name == nullptr) faults.files.erase(key);
  made->vfs = &faults;
  made->file = &faults.files[key];
  made->base.pMethods = &io_methods;
  if (given != nullptr) *given = flags;
  return SQLITE_OK;
}

int delete_file(sqlite3_vfs* vfs, const char* name, int /*sync*/) {
  FaultVfs& faults = fault_vfs(vfs);
  if (faults.is_cut()) return SQLITE_IOERR_DELETE;
  // The entry stays: an open file may still point to it.
  const auto found = faults.files.find(name);
  if (found != faults.files.end()) found->second = {};
  return SQLITE_OK;
}

int access_file(sqlite3_vfs* vfs, const char* name, int /*flags*/, int* found) {
  const auto& files = fault_vfs(vfs).files;
  const auto at = files.find(name);
  *found = at != files.end() && !at->second.content.empty() ? 1 : 0;
  return SQLITE_OK;
}

int full_path(sqlite3_vfs* /*vfs*/, const char* name, int size, char* out) {
  sqlite3_snprintf(size, out, "%s", name);
  return SQLITE_OK;
}

int random_bytes(sqlite3_vfs* vfs, int size, char* out) {
  sqlite3_vfs* system = fault_vfs(vfs).system;
  return system->xRandomness(system, size, out);
}

int sleep_for(sqlite3_vfs* /*vfs*/, int microseconds) {
  return microseconds;
}

int current_time(sqlite3_vfs* vfs, double* time) {
  sqlite3_vfs* system = fault_vfs(vfs).system;
  return system->xCurrentTime(system, time);
}

}  // namespace

FaultVfs::FaultVfs() {
  static std::atomic<int> count = 0;
  name_ = "millrace-faults-" + std::to_string(++count);
  sqlite3_initialize();
  system = sqlite3_vfs_find(nullptr);
  vfs_.iVersion = 1;
  vfs_.szOsFile = sizeof(OpenFile);
  vfs_.mxPathname = 512;
  vfs_.zName = name_.c_str();
  vfs_.pAppData = this;
  vfs_.xOpen = open_file;
  vfs_.xDelete = delete_file;
  vfs_.xAccess = access_file;
  vfs_.xFullPathname = full_path;
  vfs_.xRandomness = random_bytes;
  vfs_.xSleep = sleep_for;
  vfs_.xCurrentTime = current_time;
  sqlite3_vfs_register(&vfs_, 0);
}

FaultVfs::~FaultVfs() {
  sqlite3_vfs_unregister(&vfs_);
}

std::size_t FaultVfs::bytes() const {
  std::size_t sum = 0;
  for (const auto& [name, file] : files) sum += file.content.size();
  return sum;
}

bool FaultVfs::has_room_for(const File& file, std::size_t size) const {
  return size <= file.content.size() || bytes() + size - file.content.size() <= room_;
}

int FaultVfs::count() {
  if (is_cut()) return SQLITE_IOERR;
  ++operations_;
  if (is_cut()) return SQLITE_IOERR;
  // Nobody but a lock is busy.
  if (operations_ == fail_at_) return fail_code_ == SQLITE_BUSY ? SQLITE_IOERR : fail_code_;
  return is_full_ ? SQLITE_FULL : SQLITE_OK;
}

int FaultVfs::count_lock() {
  if (is_cut()) return SQLITE_IOERR_LOCK;
  ++operations_;
  ++locks_;
  const bool is_busy = fail_code_ == SQLITE_BUSY && !is_cut();
  if (operations_ != fail_at_ && !is_cut()) return SQLITE_OK;
  return is_busy ? SQLITE_BUSY : SQLITE_IOERR_LOCK;
}

void FaultVfs::restart(std::uint32_t seed) {
  std::mt19937 random(seed);
  cut_at_ = 0;
  for (auto& [name, file] : files) {
    for (const Change& made : file.unsynced) {
      if (made.is_truncation) {
        if (random() % 2 == 0) change(file.durable, made);
        continue;
      }
      for (std::size_t at = 0; at < made.bytes.size();) {
        const std::size_t place = static_cast<std::size_t>(made.offset) + at;
        const std::size_t size = std::min(sector - place % sector, made.bytes.size() - at);
        if (random() % 2 == 0) {
          change(file.durable,
                 {static_cast<std::int64_t>(place), made.bytes.substr(at, size), false});
        }
        at += size;
      }
    }
    file.content = file.durable;
    file.unsynced.clear();
    file.shared.clear();
  }
}

}  // namespace millrace::store
