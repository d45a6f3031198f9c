// What of Anthropic's API is behind a beta header.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "model/provider/dialects.hpp"
#include "net/client.hpp"

namespace millrace::model {

// The betas that a body of this draft needs: those of the tools, files and members that it names,
// and those that the payload's `betas` or `anthropic_beta` name.
// Source: Anthropic API reference (2026); AI SDK's anthropic package 3.0 for the names by tool.
std::vector<std::string> claude_betas(const Draft& draft, std::string_view body);

// The members that name betas: they go into the header, not into the body.
inline constexpr std::array<std::string_view, 2> claude_beta_members{"betas", "anthropic_beta"};

// Adds them to the header that may be there.
void add_betas(std::vector<net::Header>& headers, const std::vector<std::string>& betas);

}  // namespace millrace::model
