// The chain of hashes over the records of a run: each page has a hash over itself and the hash of
// the page before. A record that was changed, dropped or moved breaks it, also where the page has
// its checksum. It proves accidents; a program that can write the file can make another chain.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "journal/page.hpp"
#include "store/types.hpp"

namespace millrace::store {

// Thread: any, one at a time.
class HashChain {
 public:
  HashChain();
  ~HashChain();
  HashChain(const HashChain&) = delete;
  HashChain& operator=(const HashChain&) = delete;

  // SHA-256, 32 bytes, of what is before it, varint(last), varint(count) and the bytes of the page.
  // `before` is the hash of the page before, or "" for the first page that has one, before which
  // the bytes of the run's id are.
  std::string hash(std::string_view before, const RunId& run, std::uint64_t last,
                   std::uint64_t count, std::string_view page);
  std::string hash(std::string_view before, const RunId& run, const StoredPage& page) {
    return hash(before, run, page.last, page.count, page.bytes);
  }

 private:
  struct Digest;
  std::unique_ptr<Digest> digest_;
};

}  // namespace millrace::store
