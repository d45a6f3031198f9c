#include "support/tls_session.hpp"

#include <stdexcept>

#ifdef MILLRACE_TEST_TLS

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <climits>

namespace millrace::test {
namespace {

template <auto free>
struct Deleter {
  template <class T>
  void operator()(T* handle) const {
    free(handle);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Deleter<X509_free>>;
using Context = std::unique_ptr<SSL_CTX, Deleter<SSL_CTX_free>>;

void extend(X509* certificate, int what, const char* value) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, what, value);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

Certificate certify(const char* name, EVP_PKEY* key, X509* issuer, EVP_PKEY* issuer_key,
                    long seconds) {
  static std::atomic<long> serial{1};
  Certificate certificate(X509_new());
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), seconds);
  X509_set_pubkey(certificate.get(), key);
  X509_NAME* subject = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name), -1, -1, 0);
  X509_set_issuer_name(certificate.get(),
                       issuer == nullptr ? subject : X509_get_subject_name(issuer));
  if (issuer == nullptr) {
    extend(certificate.get(), NID_basic_constraints, "critical,CA:TRUE");
  } else {
    extend(certificate.get(), NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
  }
  X509_sign(certificate.get(), issuer_key, EVP_sha256());
  return certificate;
}

}  // namespace

struct TlsIdentity::State {
  explicit State(long seconds)
      : certificate(
            certify("localhost", key.get(), authority.get(), authority_key.get(), seconds)) {}

  Key authority_key{EVP_EC_gen("P-256")};
  Certificate authority =
      certify("Millrace test authority", authority_key.get(), nullptr, authority_key.get(), day);
  Key key{EVP_EC_gen("P-256")};
  Certificate certificate;
  Context context{SSL_CTX_new(TLS_server_method())};
};

TlsIdentity::TlsIdentity(long seconds) : state_(std::make_unique<State>(seconds)) {
  SSL_CTX_use_certificate(state_->context.get(), state_->certificate.get());
  SSL_CTX_use_PrivateKey(state_->context.get(), state_->key.get());
}

TlsIdentity::~TlsIdentity() = default;

bool TlsIdentity::is_available() {
  return true;
}

std::string TlsIdentity::authority_pem() const {
  const std::unique_ptr<BIO, Deleter<BIO_free_all>> memory(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(memory.get(), state_->authority.get());
  char* text = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

namespace {

class OpenSslSession final : public TlsSession {
 public:
  OpenSslSession(SSL_CTX* context, int fd) : ssl_(SSL_new(context)) {
    SSL_set_fd(ssl_.get(), fd);
    SSL_set_accept_state(ssl_.get());
  }
  long read(char* into, std::size_t size) override {
    return SSL_read(ssl_.get(), into, static_cast<int>(std::min<std::size_t>(size, INT_MAX)));
  }
  long write(const char* from, std::size_t size) override {
    return SSL_write(ssl_.get(), from, static_cast<int>(std::min<std::size_t>(size, INT_MAX)));
  }
  void end() override {
    if (SSL_is_init_finished(ssl_.get()) != 0) SSL_shutdown(ssl_.get());
  }

 private:
  std::unique_ptr<SSL, Deleter<SSL_free>> ssl_;
};

}  // namespace

std::unique_ptr<TlsSession> TlsSession::make(const TlsIdentity& identity, int fd) {
  return std::make_unique<OpenSslSession>(identity.state().context.get(), fd);
}

}  // namespace millrace::test

#else

namespace millrace::test {

struct TlsIdentity::State {};
TlsIdentity::TlsIdentity(long) : state_(std::make_unique<State>()) {}
TlsIdentity::~TlsIdentity() = default;
bool TlsIdentity::is_available() {
  return false;
}
std::string TlsIdentity::authority_pem() const {
  return {};
}
std::unique_ptr<TlsSession> TlsSession::make(const TlsIdentity&, int) {
  throw std::runtime_error("built without OpenSSL");
}

}  // namespace millrace::test

#endif
