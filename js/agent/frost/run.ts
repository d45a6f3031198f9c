// One run of an Engine. The rounds run in the C++ engine, which keeps the conversation; it asks here for what
// only JavaScript has: the answers of a provider and the tools.
import { AsyncResource } from 'node:async_hooks';

import type { AgentMessage, TurnAnswer } from '../../../types/agent';
import { onAbort } from '../../abort';
import { errorFromNative, MillraceError } from '../../errors';
import { type Call, startEngineCall } from '../../model/call';
import { itemsOf } from '../../transport/batches';
import { HostRequests, type ToolRequest } from '../host-calls';
import { errorRecord, toJson } from '../../serialize';
import { emit } from '../step-driver';
import type { ChatResponse, EngineRetry } from './types';

/** What the engine is given and may ask for. */
export interface RoundsHost {
  planJson: string;
  messages: AgentMessage[];
  signal: AbortSignal;
  /** A round begins. */
  onRound(): void;
  /** The engine asks the provider again. */
  onRetry?: ((retry: EngineRetry) => void) | undefined;
  /** The model's answer, where the plan leaves that to the host. */
  ask(messages: AgentMessage[], signal: AbortSignal): Promise<ChatResponse>;
  /** What a tool answers, as the engine takes it; never rejects. */
  call(question: ToolRequest, signal: AbortSignal): Promise<object>;
}

interface Spent {
  llm: {
    tokens: { input: number; output: number; total: number };
    source?: 'estimated' | 'unknown';
  };
  tools: { totalCalls: number };
}

/** How the rounds ended. */
export interface RoundsEnd {
  status: 'completed' | 'cancelled' | 'error';
  /** Of a run that is completed: `completed`, `silent`, `max_iterations`, `tool_call_repeat_limit`. */
  reason: string;
  text: string;
  usage: Spent;
  /** Rows that the run added to its conversation. */
  messages: AgentMessage[];
  notes?: string[];
  answers?: TurnAnswer[];
  answersLeftOut?: number;
  /** What was thrown, where the run failed. */
  error?: unknown;
}

type Item =
  | { type: 'STEP_STARTED' }
  | ({ type: '@retry' } & EngineRetry)
  | { type: '@model'; id: number; value: { messages: AgentMessage[] } }
  | { type: '@tool'; id: number; value: ToolRequest }
  | { type: '@withdraw'; id: number }
  | { type: '@failed'; error: object }
  | ({ type: '@result' } & RoundsEnd);

// Messages as the user gave them; without a provider of the user's they go to one of the engine's.
const optionsJson = JSON.stringify({ format: 'openai' });

/** Runs the rounds of a plan; rejects when they could not begin or be read. */
export function runRounds(host: RoundsHost): Promise<RoundsEnd> {
  return new Rounds(host).read();
}

class Rounds {
  readonly #host: RoundsHost;
  readonly #call: Call;
  readonly #questions: HostRequests;
  #thrown: { error: unknown } | undefined;
  #end: RoundsEnd | undefined;

  constructor(host: RoundsHost) {
    this.#host = host;
    const inputJson = toJson({ messages: host.messages }, 'input');
    this.#call = startEngineCall((native, deliver) =>
      native.startAgent(host.planJson, inputJson, optionsJson, deliver),
    );
    const scope = new AsyncResource('MillraceEngineRun');
    this.#questions = new HostRequests(this.#call, scope, host.signal);
  }

  async read(): Promise<RoundsEnd> {
    const call = this.#call;
    const settled = onAbort(this.#host.signal, () => call.stop());
    try {
      for (let output = await call.read(); output !== undefined; output = await call.read()) {
        for (const item of itemsOf<Item>(output)) this.#take(item);
      }
    } finally {
      settled();
      this.#questions.end();
    }
    const lost = new MillraceError('internal', 'The engine gave no result.');
    if (!this.#end) throw (this.#thrown?.error ?? lost) as Error;
    return { ...this.#end, ...(this.#thrown && { error: this.#thrown.error }) };
  }

  #take(item: Item): void {
    switch (item.type) {
      case 'STEP_STARTED':
        this.#host.onRound();
        break;
      case '@retry': {
        const { type: _type, ...retry } = item;
        emit(this.#host.onRetry, retry);
        break;
      }
      case '@model':
        this.#questions.start(item.id, ({ signal }) =>
          this.#callModel(item.value.messages, signal),
        );
        break;
      case '@tool':
        this.#questions.start(item.id, ({ signal }) => this.#host.call(item.value, signal));
        break;
      case '@withdraw':
        this.#questions.withdraw(item.id);
        break;
      case '@failed':
        this.#thrown ??= { error: errorFromNative(JSON.stringify(item.error)) };
        break;
      case '@result': {
        const { type: _type, ...end } = item;
        this.#end = end;
        break;
      }
    }
  }

  // What a provider throws is the caller's own: it comes back as it is.
  async #callModel(messages: AgentMessage[], signal: AbortSignal): Promise<object> {
    try {
      const answer = await this.#host.ask(messages, signal);
      toJson(answer, 'answer');
      return answer;
    } catch (error) {
      this.#thrown = { error };
      const { type, message } = errorRecord(error);
      return { error: { type, message } };
    }
  }
}
