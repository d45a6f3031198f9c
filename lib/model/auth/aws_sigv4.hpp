// Signatures of AWS requests, version 4.
// Source: AWS General Reference, Signature Version 4 signing process (2026).
#pragma once

#include <string>
#include <string_view>

#include "model/auth/auth.hpp"
#include "net/client.hpp"

namespace millrace::model {

struct AwsScope {
  std::string_view region;
  std::string_view service;
};

// "20150830T123600Z"
std::string amz_date(Time now);

// What is hashed and signed, for tests and for finding a difference to AWS's own.
// `signed_headers` gets their names, separated by ';'.
std::string canonical_request(const net::Request& request, std::string& signed_headers);

// Adds X-Amz-Date, X-Amz-Security-Token (when there is one) and Authorization; all headers that
// stand in the request and Host are signed. The paths of all services but S3 are encoded twice.
void sign_aws(net::Request& request, const AwsKeys& keys, const AwsScope& scope, Time now);

// Signs a request again whose body has changed since; one without a signature stays as it is.
void sign_aws_again(net::Request& request, const AwsKeys& keys, const AwsScope& scope, Time now);

}  // namespace millrace::model
