// Runs the tools of the host for an agent's run: the engine asks, JavaScript answers. Whatever a
// tool throws is an answer as well.
import type { AgentToolContext } from '../../types/agent';
import type { AsyncResource } from 'node:async_hooks';

import type { Call } from '../model/call';
import type { SuspendedTools } from './suspended-tools';
import { isPassing } from './retries';
import { errorRecord } from '../serialize';
import { answerOf } from '../tool/tool-result';
import { checkedInput } from '../tool/tool';
import type { HostTool } from '../tool/types';
import { logFailure } from '../log-failure';

/** What the engine asks for. */
export interface ToolRequest {
  name: string;
  toolCallId: string;
  arguments: string;
  idempotencyKey: string;
  run?: AgentToolContext['run'];
}

/** A question on its way. Its signal is made when it is looked at: most never are. */
export class OpenRequest {
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

const request = Symbol('request');

// One getter for all: V8 keeps a shape of its own for each object whose getter is a function of its own.
function signalOf(this: { [request]: OpenRequest }): AbortSignal {
  return this[request].signal;
}

function withSignalOf(
  open: OpenRequest,
  context: Omit<AgentToolContext, 'signal'>,
): AgentToolContext {
  Object.defineProperty(context, request, { value: open });
  Object.defineProperty(context, 'signal', { get: signalOf, enumerable: true, configurable: true });
  return context as AgentToolContext;
}

/** Questions of the engine that are being answered. */
export class HostRequests {
  readonly #call: Pick<Call, 'complete'>;
  readonly #scope: AsyncResource;
  readonly #outer: AbortSignal | undefined;
  readonly #open = new Map<number, OpenRequest>();

  /** User code runs in the `scope` of the caller that started the run, and learns the reason of its signal. */
  constructor(call: Pick<Call, 'complete'>, scope: AsyncResource, outer?: AbortSignal) {
    this.#call = call;
    this.#scope = scope;
    this.#outer = outer;
  }

  /** Has a question answered; `answer` may report its progress. */
  start(
    id: number,
    answer: (question: OpenRequest, report: (progress: object) => void) => Promise<object>,
  ): void {
    const question = new OpenRequest();
    this.#open.set(id, question);
    const report = (value: object): void => {
      if (this.#open.get(id) === question) this.#call.complete(id, JSON.stringify(value));
    };
    const end = (value: object): void => {
      try {
        report(value);
      } catch (thrown) {
        // The run waits for an answer, whatever came in its place.
        report(failureOf(thrown));
      }
      if (this.#open.get(id) === question) this.#open.delete(id);
    };
    const fail = (thrown: unknown): void => end(failureOf(thrown));
    void this.#scope.runInAsyncScope(() => answer(question, report).then(end, fail));
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

// What a tool threw goes to the model as its result, and may be worth another try.
function failureOf(thrown: unknown): object {
  const { type, message } = errorRecord(thrown);
  const code = type === 'AgentRuntimeError' ? 'tool_failed' : type;
  return { content: message, isError: true, code, retry: isPassing(thrown) };
}

export class HostCalls {
  readonly #tools: ReadonlyMap<string, HostTool>;
  readonly #requested: SuspendedTools | undefined;
  readonly #questions: HostRequests;

  /** Tools run in the `scope` of the caller that started the run; `asked` are those of calls that were approved. */
  constructor(
    {
      tools,
      suspended: requested,
    }: { tools: ReadonlyMap<string, HostTool>; suspended?: SuspendedTools | undefined },
    call: Pick<Call, 'complete'>,
    scope: AsyncResource,
  ) {
    this.#tools = tools;
    this.#requested = requested;
    this.#questions = new HostRequests(call, scope);
  }

  start(id: number, question: ToolRequest): void {
    this.#questions.start(id, (open, report) => this.#answer(question, open, report));
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
    { name, toolCallId, idempotencyKey, arguments: text, run }: ToolRequest,
    open: OpenRequest,
    report: (progress: object) => void,
  ): Promise<object> {
    const tool = this.#requested?.get(toolCallId) ?? this.#tools.get(name);
    if (!tool) throw new Error(`There is no tool called ${name}.`);
    const input = await checkedInput(tool, JSON.parse(text));
    const context = withSignalOf(open, {
      toolCallId,
      idempotencyKey,
      progress: (value) => report({ progress: value ?? null }),
      ...(run && { run }),
    });
    try {
      return answerOf(await tool.run(input, context), name, tool.vendor !== undefined);
    } catch (thrown) {
      logCause(name, thrown, open);
      throw thrown;
    }
  }
}

// The model and the client get the message alone. The cause is in the log.
function logCause(name: string, thrown: unknown, { isWithdrawn }: OpenRequest): void {
  if (!isWithdrawn) logFailure(`millrace: the tool ${name} failed:`, thrown);
}
