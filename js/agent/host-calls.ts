// Runs the tools of the host for an agent's run: the engine asks, JavaScript answers. Whatever a
// tool throws is an answer as well.
import type { AgentToolContext } from '../../types/agent';
import type { AsyncResource } from 'node:async_hooks';

import type { Call } from '../model/call';
import type { AskedTools } from './asked-tools';
import { isPassing } from './retries';
import { errorRecord } from '../serialize';
import { answerOf } from '../tool/tool-result';
import { checkedInput } from '../tool/tool';
import type { HostTool } from '../tool/types';

/** What the engine asks for. */
export interface ToolQuestion {
  name: string;
  toolCallId: string;
  arguments: string;
  idempotencyKey: string;
}

/** A question on its way. Its signal is made when it is looked at: most never are. */
export class OpenQuestion {
  #controller: AbortController | undefined;
  #aborted: { reason: unknown } | undefined;

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#aborted) this.#controller.abort(this.#aborted.reason);
    return this.#controller.signal;
  }

  /** The answer is not wanted any more. */
  get isWithdrawn(): boolean {
    return this.#aborted !== undefined;
  }

  abort(reason: unknown): void {
    this.#aborted = { reason };
    this.#controller?.abort(reason);
  }
}

/** Questions of the engine that are being answered. */
export class HostQuestions {
  readonly #call: Call;
  readonly #scope: AsyncResource;
  readonly #outer: AbortSignal | undefined;
  readonly #open = new Map<number, OpenQuestion>();

  /** User code runs in the `scope` of whoever started the run, and learns the reason of its signal. */
  constructor(call: Call, scope: AsyncResource, outer?: AbortSignal) {
    this.#call = call;
    this.#scope = scope;
    this.#outer = outer;
  }

  /** Has a question answered; `answer` may tell of its progress. */
  start(
    id: number,
    answer: (question: OpenQuestion, tell: (progress: object) => void) => Promise<object>,
  ): void {
    const question = new OpenQuestion();
    this.#open.set(id, question);
    const tell = (said: object): void => {
      if (this.#open.get(id) === question) this.#call.complete(id, JSON.stringify(said));
    };
    const end = (said: object): void => {
      try {
        tell(said);
      } catch (thrown) {
        // The run waits for an answer, whatever came in its place.
        tell(failureOf(thrown));
      }
      if (this.#open.get(id) === question) this.#open.delete(id);
    };
    const fail = (thrown: unknown): void => end(failureOf(thrown));
    void this.#scope.runInAsyncScope(() => answer(question, tell).then(end, fail));
  }

  /** The answer is not wanted any more. */
  withdraw(id: number): void {
    this.#open.get(id)?.abort(this.#outer?.reason);
    this.#open.delete(id);
  }

  end(): void {
    for (const question of this.#open.values()) question.abort(this.#outer?.reason);
    this.#open.clear();
  }
}

// What a tool threw is told to the model, and may be worth another try.
function failureOf(thrown: unknown): object {
  const { type, message } = errorRecord(thrown);
  const code = type === 'AgentRuntimeError' ? 'tool_failed' : type;
  return { content: message, isError: true, code, retry: isPassing(thrown) };
}

export class HostCalls {
  readonly #tools: ReadonlyMap<string, HostTool>;
  readonly #asked: AskedTools | undefined;
  readonly #questions: HostQuestions;

  /** Tools run in the `scope` of whoever started the run; `asked` are those of calls that were approved. */
  constructor(
    { tools, asked }: { tools: ReadonlyMap<string, HostTool>; asked?: AskedTools | undefined },
    call: Call,
    scope: AsyncResource,
  ) {
    this.#tools = tools;
    this.#asked = asked;
    this.#questions = new HostQuestions(call, scope);
  }

  start(id: number, question: ToolQuestion): void {
    this.#questions.start(id, (open, tell) => this.#answer(question, open, tell));
  }

  withdraw(id: number): void {
    this.#questions.withdraw(id);
  }

  end(): void {
    this.#questions.end();
  }

  // One function for all of a call: thousands of them may wait for their tool, and each that waits for
  // another would be kept with it.
  async #answer(
    { name, toolCallId, idempotencyKey, arguments: text }: ToolQuestion,
    open: OpenQuestion,
    tell: (progress: object) => void,
  ): Promise<object> {
    const tool = this.#asked?.get(toolCallId) ?? this.#tools.get(name);
    if (!tool) throw new Error(`There is no tool called ${name}.`);
    const input = await checkedInput(tool, JSON.parse(text));
    const context: AgentToolContext = {
      get signal() {
        return open.signal;
      },
      toolCallId,
      idempotencyKey,
      progress: (value) => tell({ progress: value ?? null }),
    };
    try {
      return answerOf(await tool.run(input, context), name);
    } catch (thrown) {
      logFailure(name, thrown, open);
      throw thrown;
    }
  }
}

// The model and the client are told the message alone. Whoever runs the server has to find the cause here.
function logFailure(name: string, thrown: unknown, { isWithdrawn }: OpenQuestion): void {
  if (!isWithdrawn) console.error(`millrace: the tool ${name} failed:`, thrown);
}
