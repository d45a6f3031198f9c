// What the engine reports of an agent's run: events, and items of its own between them.
import type { AgentInterrupt, AgentRunStatus, RunCheckpoint } from '../../types/agent-run';
import type { AGUIEvent } from '../../types/events';
import type { HostRequest } from '../model/fetch-transfer';
import type { AgentResultBase } from './agent-result';
import type { ToolRequest } from './host-calls';
import type { SentAnswer } from './sent-messages';

// The result as the engine reports it, without the error of a run that failed.
export type ReportedResult = Omit<AgentResultBase, 'threadId' | 'runId'> & {
  status: AgentRunStatus;
  interrupts?: AgentInterrupt[];
  /** Of a run that a limit ended: the error as the engine describes it. */
  limit?: object;
};

export type Item =
  | AGUIEvent
  | string
  | { type: '@tool'; id: number; value: ToolRequest }
  | { type: '@withdraw' | '@fetched'; id: number }
  | { type: '@fetch'; id: number; value: HostRequest }
  | ({ type: '@checkpoint' } & RunCheckpoint)
  | { type: '@failed'; error: object }
  | ({ type: '@run' } & Begun)
  | { type: '@seq'; seq: number }
  | ({ type: '@sent' } & SentAnswer)
  | ({ type: '@result' } & ReportedResult);

// A durable run as the engine found or made it.
export interface Begun {
  id: string;
  name: string;
  threadId: string;
  principal: string;
}
