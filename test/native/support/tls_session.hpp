// The server side of TLS for RawServer.
#pragma once

#include <memory>

#include "support/raw_server.hpp"

namespace millrace::test {

class TlsSession {
 public:
  virtual ~TlsSession() = default;
  // As recv and send; the handshake happens in the first of them.
  virtual long read(char* into, std::size_t size) = 0;
  virtual long write(const char* from, std::size_t size) = 0;
  virtual void end() = 0;

  static std::unique_ptr<TlsSession> make(const TlsIdentity& identity, int fd);
};

}  // namespace millrace::test
