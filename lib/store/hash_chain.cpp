#include "store/hash_chain.hpp"

#include <openssl/evp.h>

#include "journal/wire.hpp"

namespace millrace::store {

// Both are found once: to look an algorithm up takes longer than to hash a page.
struct HashChain::Digest {
  EVP_MD* algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  Digest() = default;
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;
  ~Digest() {
    EVP_MD_CTX_free(context);
    EVP_MD_free(algorithm);
  }
};

HashChain::HashChain() : digest_(std::make_unique<Digest>()) {}

HashChain::~HashChain() = default;

std::string HashChain::hash(std::string_view before, const RunId& run, std::uint64_t last,
                            std::uint64_t count, std::string_view page) {
  constexpr std::size_t size = 32;
  std::string head(before.empty() ? run.bytes() : before);
  journal::append_varint(head, last);
  journal::append_varint(head, count);
  EVP_MD_CTX* context = digest_->context;
  std::string made(size, '\0');
  const bool is_made =
      EVP_DigestInit_ex2(context, digest_->algorithm, nullptr) == 1 &&
      EVP_DigestUpdate(context, head.data(), head.size()) == 1 &&
      EVP_DigestUpdate(context, page.data(), page.size()) == 1 &&
      EVP_DigestFinal_ex(context, reinterpret_cast<unsigned char*>(made.data()), nullptr) == 1;
  // Without the algorithm a page has no hash, which its reader may know.
  return is_made ? made : std::string();
}

}  // namespace millrace::store
