// Titles of conversations: the first question at once, and what is made of question and answer.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "api/api_context.hpp"
#include "store/backend.hpp"

namespace millrace::api {

// What a title is made of.
struct TitleRequest {
  std::string question;
  std::string answer;
  std::string basis;
};

// Whether begin_title would ask for a title; changes nothing.
bool is_title_due(store::StorageBackend& backend, const std::string& principal,
                  const std::string& id);

// Marks the title as requested. Nothing where none is wanted.
std::optional<TitleRequest> begin_title(store::StorageBackend& backend,
                                        const std::string& principal, const std::string& id);

// The first question is the title of its conversation, which the run has made where it was missing;
// a title that is there stays. Calls `done` then.
// Thread: engine thread.
void name_after(const ApiContextPtr& context, const std::string& principal, const std::string& id,
                const std::string& question, std::function<void()> done);

bool end_title(store::StorageBackend& backend, const std::string& principal, const std::string& id,
               const std::string& basis, const std::string& title);

}  // namespace millrace::api
