// A function as an agent: the engine records what it shows and how it ends, JavaScript runs it.
import type { Message } from '../../types/messages';
import type { AgentFunction, AgentTurn, FunctionContext, FunctionRun } from '../../types/runtime';
import { type HostWork, wrong } from './host-work';

/** What the engine asks for; see lib/run/durable/function_session.hpp. */
export interface FunctionRequest {
  turn: Omit<AgentTurn, 'runId' | 'text'>;
  run: FunctionRun;
}

/** Calls the function with its turn, and with what it may do with its run. */
export function runFunction(
  work: HostWork,
  run: AgentFunction,
  request: FunctionRequest,
): Promise<void> {
  const { turn } = request;
  const whole = { ...turn, runId: request.run.id, text: lastText(turn.messages) };
  return work.start(() => run(whole, contextOf(work, request.run)));
}

function contextOf(work: HostWork, run: FunctionRun): FunctionContext {
  return {
    run,
    signal: work.signal,
    send: async (text) => {
      if (typeof text !== 'string') throw wrong('send', 'a text', text);
      await work.show({ event: 'text', text });
    },
    emit: async (event, payload) => {
      if (typeof event !== 'string' || event === '') throw wrong('emit', 'a name', event);
      await work.custom(event, payload);
    },
    stage: async (name, detail) => {
      if (typeof name !== 'string' || name === '') throw wrong('stage', 'a name', name);
      await work.custom('stage', { stage: name, ...(detail !== undefined && { detail }) });
    },
    action: (id, options) => work.ask(id, options) as Promise<never>,
  };
}

function lastText(messages: readonly Message[]): string {
  const content = messages.findLast(({ role }) => role === 'user')?.content;
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return (content as readonly { type: string; text?: string }[])
    .flatMap((part) => (part.type === 'text' ? [part.text ?? ''] : []))
    .join('');
}
