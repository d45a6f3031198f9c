// What the operations of chat_storage.hpp read of their options, and those of artifacts and
// attachments.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "store/backend.hpp"
#include "store/types.hpp"

namespace millrace::run::front {

std::string text_at(const json::Tree& options, std::string_view name);
std::string principal_of(const json::Tree& options);
// Errors: invalid_argument.
Result<std::size_t> limit_of(const json::Tree& options);
Result<std::string> text_option(const json::Tree& value, std::string_view name);
Error wrong_value(std::string_view name, std::string_view wanted, const json::Tree& value);

// Errors: thread_not_found.
Result<store::ThreadRow> thread_at(store::StorageBackend& backend, const std::string& principal,
                                   const std::string& id);

Result<json::Tree> list_artifacts(store::StorageBackend& backend, const json::Tree& options);
Result<json::Tree> get_artifact(store::StorageBackend& backend, const json::Tree& options);
Result<json::Tree> create_artifact(store::StorageBackend& backend, const json::Tree& options);
Result<json::Tree> update_artifact(store::StorageBackend& backend, const json::Tree& options);
Result<json::Tree> delete_artifact(store::StorageBackend& backend, const json::Tree& options);

Result<json::Tree> put_attachment(store::StorageBackend& backend, const json::Tree& options);
Result<json::Tree> get_attachment(store::StorageBackend& backend, const json::Tree& options);
Result<json::Tree> delete_attachment(store::StorageBackend& backend, const json::Tree& options);

}  // namespace millrace::run::front
