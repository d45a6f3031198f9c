// Runs the tools of the host for an agent's run: the engine asks, JavaScript answers. Whatever a
// tool throws is an answer as well.
import type { AgentToolContext } from '../../types/agent';
import type { AsyncResource } from 'node:async_hooks';

import type { Call } from '../model/call';
import { isPassing } from './retries';
import { errorRecord } from './serialize';
import { answerOf } from './tool-result';
import { checkedInput, type HostTool } from './tools';

/** What the engine asks for. */
export interface ToolQuestion {
  name: string;
  toolCallId: string;
  arguments: string;
  idempotencyKey: string;
}

/** Questions of the engine that are being answered. */
export class HostQuestions {
  readonly #call: Call;
  readonly #scope: AsyncResource;
  readonly #outer: AbortSignal | undefined;
  readonly #open = new Map<number, AbortController>();

  /** User code runs in the `scope` of whoever started the run, and learns the reason of its signal. */
  constructor(call: Call, scope: AsyncResource, outer?: AbortSignal) {
    this.#call = call;
    this.#scope = scope;
    this.#outer = outer;
  }

  /** Has a question answered; `answer` never rejects, and may tell of its progress. */
  start(
    id: number,
    answer: (signal: AbortSignal, tell: (progress: object) => void) => Promise<object>,
  ): void {
    const controller = new AbortController();
    this.#open.set(id, controller);
    const tell = (said: object): void => {
      if (this.#open.get(id) === controller) this.#call.complete(id, JSON.stringify(said));
    };
    void this.#scope.runInAsyncScope(async () => {
      const said = await answer(controller.signal, tell);
      tell(said);
      if (this.#open.get(id) === controller) this.#open.delete(id);
    });
  }

  /** The answer is not wanted any more. */
  withdraw(id: number): void {
    this.#open.get(id)?.abort(this.#outer?.reason);
    this.#open.delete(id);
  }

  end(): void {
    for (const controller of this.#open.values()) controller.abort(this.#outer?.reason);
    this.#open.clear();
  }
}

export class HostCalls {
  readonly #tools: ReadonlyMap<string, HostTool>;
  readonly #questions: HostQuestions;

  /** Tools run in the `scope` of whoever started the run. */
  constructor(tools: ReadonlyMap<string, HostTool>, call: Call, scope: AsyncResource) {
    this.#tools = tools;
    this.#questions = new HostQuestions(call, scope);
  }

  start(id: number, question: ToolQuestion): void {
    this.#questions.start(id, (signal, tell) => this.#answer(question, signal, tell));
  }

  withdraw(id: number): void {
    this.#questions.withdraw(id);
  }

  end(): void {
    this.#questions.end();
  }

  async #answer(
    question: ToolQuestion,
    signal: AbortSignal,
    tell: (progress: object) => void,
  ): Promise<object> {
    try {
      return answerOf(await this.#invoke(question, signal, tell), question.name);
    } catch (thrown) {
      const { type, message } = errorRecord(thrown);
      const code = type === 'AgentRuntimeError' ? 'tool_failed' : type;
      return { content: message, isError: true, code, retry: isPassing(thrown) };
    }
  }

  async #invoke(
    question: ToolQuestion,
    signal: AbortSignal,
    tell: (progress: object) => void,
  ): Promise<unknown> {
    const { name, toolCallId, idempotencyKey } = question;
    const tool = this.#tools.get(name);
    if (!tool) throw new Error(`There is no tool called ${name}.`);
    const input = await checkedInput(tool, JSON.parse(question.arguments));
    const context: AgentToolContext = {
      signal,
      toolCallId,
      idempotencyKey,
      progress: (value) => tell({ progress: value ?? null }),
    };
    return tool.run(input, context);
  }
}
