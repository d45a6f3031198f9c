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

export class HostCalls {
  readonly #tools: ReadonlyMap<string, HostTool>;
  readonly #call: Call;
  readonly #scope: AsyncResource;
  readonly #running = new Map<number, AbortController>();

  /** Tools run in the `scope` of whoever started the run. */
  constructor(tools: ReadonlyMap<string, HostTool>, call: Call, scope: AsyncResource) {
    this.#tools = tools;
    this.#call = call;
    this.#scope = scope;
  }

  start(id: number, question: ToolQuestion): void {
    const controller = new AbortController();
    this.#running.set(id, controller);
    void this.#scope.runInAsyncScope(() => this.#run(id, question, controller.signal));
  }

  /** The answer is not wanted any more. */
  withdraw(id: number): void {
    this.#running.get(id)?.abort();
    this.#running.delete(id);
  }

  end(): void {
    for (const controller of this.#running.values()) controller.abort();
    this.#running.clear();
  }

  async #run(id: number, question: ToolQuestion, signal: AbortSignal): Promise<void> {
    let answer: object;
    try {
      answer = answerOf(await this.#invoke(id, question, signal), question.name);
    } catch (thrown) {
      const { type, message } = errorRecord(thrown);
      const code = type === 'AgentRuntimeError' ? 'tool_failed' : type;
      answer = { content: message, isError: true, code, retry: isPassing(thrown) };
    }
    if (this.#running.delete(id)) this.#call.complete(id, JSON.stringify(answer));
  }

  async #invoke(id: number, question: ToolQuestion, signal: AbortSignal): Promise<unknown> {
    const { name, toolCallId, idempotencyKey } = question;
    const tool = this.#tools.get(name);
    if (!tool) throw new Error(`There is no tool called ${name}.`);
    const input = await checkedInput(tool, JSON.parse(question.arguments));
    const context: AgentToolContext = {
      signal,
      toolCallId,
      idempotencyKey,
      progress: (value) => {
        if (!this.#running.has(id)) return;
        this.#call.complete(id, JSON.stringify({ progress: value ?? null }));
      },
    };
    return tool.run(input, context);
  }
}
