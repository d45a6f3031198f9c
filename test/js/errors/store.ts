// The store of durable runs, and the runs in it.
import { createAgent, createRuntime } from 'millrace';

import { keep } from './kit';
import type { Failure, Rows } from './row';

// Without `authorize`, callers may only start runs.
async function listed(): Promise<Failure> {
  const runtime = keep(createRuntime({ storage: 'memory' }));
  const agent = createAgent({ model: 'demo:demo', runtime, name: 'a' });
  const response = await agent.handler(new Request('http://localhost/agent/runs'));
  return ((await response.json()) as { error: Failure }).error;
}

export const storeRows: Rows = {
  store_in_use: { native: ['store/sqlite_backend_test.cpp', 'SqliteStore.BelongsToOneProcess'] },
  store_foreign: {
    native: ['store/sqlite_backend_test.cpp', 'SqliteStore.LeavesForeignFilesAlone'],
  },
  store_newer: {
    native: [
      'store/sqlite_backend_test.cpp',
      'SqliteStore.RefusesFilesOfNewerReleasesUnlessTheyAllowIt',
    ],
  },
  store_damaged: { native: ['journal/codec_test.cpp', 'JournalCodec.RejectsMalformedFields'] },
  store_truncated: {
    native: ['store/sqlite_check_test.cpp', 'SqliteCheck.FindsAFileThatIsCut'],
  },
  store_full: {
    native: ['store/sqlite_faults_test.cpp', 'SqliteFaults.LosesNothingWhenTheDiskIsFull'],
  },
  store_failed: { native: ['store/sqlite_backend_test.cpp', 'SqliteStore.NeedsAFolder'] },
  store_moved: {
    native: ['store/sqlite_backend_test.cpp', 'SqliteStore.NoticesThatItsFileWasReplaced'],
  },
  store_unsupported: {
    native: ['store/sqlite_backend_test.cpp', 'SqliteStore.RefusesPlacesWhereItWouldNotBeSafe'],
  },
  run_not_found: {
    native: ['store/conformance_runs.cpp', 'StorageConformance.LeavesAThreadToOneRun'],
  },
  run_conflict: {
    native: ['run/durable_run_test.cpp', 'DurableRun.LeavesAThreadToTheRunThatIsInIt'],
  },
  run_not_recoverable: {
    native: ['run/durable_run_test.cpp', 'DurableRun.IsGivenUpWhenItsProcessesKeepEnding'],
  },
  agent_not_registered: {
    native: ['run/durable_requests_test.cpp', 'RunRequests.ParksARunThatNobodyCanRun'],
  },
  thread_not_found: {
    native: ['run/chat_storage_test.cpp', 'ChatStorage.NamesThreadsThatAreNotThere'],
  },
  message_not_found: {
    native: ['run/chat_storage_test.cpp', 'ChatStorage.NamesMessagesThatAreNotThere'],
  },
  artifact_not_found: {
    native: ['run/chat_storage_test.cpp', 'ChatStorage.NamesArtifactsThatAreNotThere'],
  },
  attachment_not_found: { native: ['run/chat_storage_test.cpp', 'ChatStorage.KeepsFiles'] },
  not_authorized: { provoke: listed, says: "'read'" },
  interrupted: {
    native: ['run/durable_function_test.cpp', 'DurableFunction.IsInterruptedByTheEndOfItsProcess'],
  },
  cursor_ahead: { native: ['run/durable_run_test.cpp', 'DurableRun.RefusesACursorBehindItsEnd'] },
};
