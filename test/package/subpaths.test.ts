// Each entry as a strict TypeScript program sees it, also one with TypeScript's older resolution (node10), which reads
// typesVersions instead of exports. Checked by the compiler; not run.
import { createAgent } from 'millrace/agent';
import { inMemoryStorage } from 'millrace/channels';
import { agUIAdapter, fetchLLM } from 'millrace/client';
import { SessionManager } from 'millrace/frost';
import { createChatRoute } from 'millrace/lobe';
import { createMCPClient } from 'millrace/mcp';
import { createModelRuntime } from 'millrace/model';
import { crashAfter, type RecordKind } from 'millrace/testing';
import { tool } from 'millrace/tools';
import { estimateTokens } from 'millrace/usage';

export const llm = fetchLLM({ url: 'http://127.0.0.1/agent', streamAdapter: agUIAdapter() });
export const functions: ((...values: never[]) => unknown)[] = [
  ...[createAgent, inMemoryStorage, createChatRoute, createMCPClient],
  ...[createModelRuntime, tool, estimateTokens, crashAfter],
];
export const kind: RecordKind = 'tool_result';
export const sessions: SessionManager = new SessionManager();
