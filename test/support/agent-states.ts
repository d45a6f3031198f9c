/* eslint-disable @typescript-eslint/no-explicit-any */
// What the tests of AgentRuntime share: scripted agents, states and calls.
import { AgentRuntime } from 'millrace';

export const call = (id: string, apiName: string, args = '{}') => ({
  id,
  identifier: apiName,
  apiName,
  arguments: args,
  type: 'default',
});

export const requested = (content: string, extra = {}) =>
  AgentRuntime.createInitialState({
    operationId: 'op',
    messages: [{ role: 'user', content }],
    ...extra,
  });

// An agent that follows a script: what it answers for each phase.
export const scripted = (answers: Record<string, unknown>, rest = {}): any => ({
  runner: jest.fn(
    (context: any) => answers[context.phase] ?? { type: 'finish', reason: 'completed' },
  ),
  ...rest,
});

export const llm = { type: 'call_llm', payload: { messages: [{ role: 'user', content: 'hi' }] } };

export async function* says(...chunks: object[]) {
  yield* chunks;
}
