// What a run begins with, as the body that an AG-UI client would send.
import type { RunAgentInput, Tool } from '../../types/events';
import type { Message } from '../../types/messages';
import { MillraceError } from '../errors';
import { randomUUID } from '../node-crypto';
import type { AgentInput, AgentRunOptions } from './types';

/** The input with the ids, tools and answers of the options. */
export function inputOf(input: AgentInput, options: AgentRunOptions): RunAgentInput {
  const { threadId, runId, clientTools, resume } = options;
  let given: Partial<RunAgentInput>;
  if (typeof input === 'string') {
    given = { messages: [{ id: randomUUID(), role: 'user', content: input }] };
  } else if (Array.isArray(input)) {
    given = { messages: input as Message[] };
  } else if (typeof input !== 'object' || input === null) {
    throw new MillraceError(
      'invalid_argument',
      'A run needs a text, a list of messages, or the body of an AG-UI request.',
    );
  } else {
    given = input as Partial<RunAgentInput>;
  }
  return {
    ...given,
    messages: given.messages ?? [],
    threadId: threadId ?? given.threadId ?? randomUUID(),
    runId: runId ?? given.runId ?? randomUUID(),
    ...(clientTools && { tools: [...clientTools] as Tool[] }),
    ...(resume && { resume: [...resume] }),
  };
}

/** Whether the input may hold what a client must not give. */
export function isFromClient(input: AgentInput): boolean {
  return typeof input === 'object' && !Array.isArray(input);
}
