// What a store in memory holds, and the rows of runs in it.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/backend.hpp"
#include "store/types.hpp"

namespace millrace::store::memory {

using Owned = std::pair<std::string, std::string>;  // principal and id

struct Blob {
  std::string bytes;
  std::int64_t created = 0;
};

struct Tables {
  std::map<RunId, RunRow> runs;
  std::map<RunId, std::vector<StoredPage>> journals;
  std::map<RunId, std::vector<CheckpointRow>> checkpoints;
  std::map<RunId, std::vector<CallRow>> calls;  // in the order of their intents
  std::map<std::string, ApprovalRow> approvals;
  std::vector<SegmentRow> segments;
  std::map<Owned, ThreadRow> threads;
  std::map<Owned, std::vector<MessageRow>> messages;
  std::map<std::string, ArtifactRow> artifacts;
  std::map<std::string, Blob> blobs;
  std::map<std::string, AttachmentRow> attachments;
  std::vector<OutboxRow> outbox;

  RunRow* find(const RunId& id) {
    const auto found = runs.find(id);
    return found == runs.end() ? nullptr : &found->second;
  }
  // The run that has this thread for itself, or nullptr.
  const RunRow* at_work_in(const NewRun& other);
  std::vector<RunRow*> children_of(const RunId& root);
  // Gives the numbers of the page: first and last.
  std::pair<std::uint64_t, std::uint64_t> write(RunRow& root, const journal::Page& page);
  void put_messages(const Owned& thread, std::span<const MessageRow> rows);
  void erase_run(const RunId& root);
};

}  // namespace millrace::store::memory
