// runtime.lobe(): LobeHub's server as plain functions, for a host that mounts them in a router of its own.
import type {
  LobeDecision,
  LobeEvent,
  LobeHook,
  LobeIntervention,
  LobeOperationInfo,
  LobeOperationParams,
  LobeOperationStatus,
  LobeStepResult,
} from '../../types/lobe-server';
import type { ErrorCode } from '../../types/errors';
import { errorTypes } from '../error-types';
import { MillraceError } from '../errors';
import { checkNames } from '../known-names';
import { toJson } from '../serialize';
import { checkValues, text } from '../value-checks';
import { HookCalls, type KnownOperation } from './lobe-hooks';

/** A request to a route of the runtime that the host itself makes. */
export interface OwnRequest {
  method: 'GET' | 'POST';
  target: string;
  json?: string | undefined;
}

export interface LobeServerOptions {
  /** Whose operations they are; `local` when absent. */
  principal?: string | undefined;
}

export interface LobeStreamOptions {
  /** The id of the last event that the reader has. */
  lastEventId?: string | undefined;
  /** Also events of the agents that work for calls of the operation; they have its id as `parentOperationId`. */
  subagents?: boolean | undefined;
}

export interface LobeWatchOptions extends Pick<LobeStreamOptions, 'lastEventId'> {
  /** Ends the watching; the operation goes on. */
  signal?: AbortSignal | undefined;
}

type Ask = (request: OwnRequest, principal: string) => Promise<Response>;

// How often it is checked whether an operation that waited goes on.
const lookAgainMs = 1000;

/** Operations of one principal: durable runs, as LobeHub's server has them. */
export class LobeServer {
  readonly #ask: Ask;
  readonly #principal: string;

  constructor(ask: Ask, options: LobeServerOptions) {
    checkNames('lobe()', options, ['principal']);
    checkValues('lobe()', options, { principal: text });
    this.#ask = ask;
    this.#principal = options.principal ?? 'local';
  }

  /** Creates an operation, which works at once unless `autoStart` is false. */
  createOperation(params: LobeOperationParams): Promise<LobeOperationInfo> {
    return this.#post('operations', params);
  }

  getOperationStatus(
    operationId: string,
    options: { includeHistory?: boolean; historyLimit?: number } = {},
  ): Promise<LobeOperationStatus> {
    const { includeHistory = false, historyLimit = 10 } = options;
    return this.#get(
      `operations/${encodeURIComponent(operationId)}`,
      includeHistory ? { includeHistory: 'true', historyLimit: String(historyLimit) } : {},
    );
  }

  /** Resolves once a step has ended; a step that ended before gives what it gave. */
  executeStep(params: {
    operationId: string;
    stepIndex: number;
    approvedToolCall?: object;
    humanInput?: unknown;
    rejectionReason?: string;
  }): Promise<LobeStepResult> {
    return this.#post('run', params);
  }

  /** Resolves once all steps have ended, or so many, or the operation waits. */
  executeSync(operationId: string, options: { maxSteps?: number } = {}): Promise<LobeStepResult> {
    const query = options.maxSteps === undefined ? '' : `?maxSteps=${options.maxSteps}`;
    return this.#post(`operations/${encodeURIComponent(operationId)}/sync${query}`, {});
  }

  /** Has an operation begin that was created without a start, and says whether it works. */
  startExecution(params: { operationId: string }): Promise<{ scheduled: boolean }> {
    return this.#post('start', params);
  }

  /** Ends an operation; one that is over stays as it is. */
  async interruptOperation(operationId: string): Promise<void> {
    await this.#post(`operations/${encodeURIComponent(operationId)}/interrupt`, {});
  }

  /** Ends an operation that waits for a person; one that is over stays as it is. */
  async stopPendingApproval(operationId: string): Promise<void> {
    await this.#post(`operations/${encodeURIComponent(operationId)}/stop-approval`, {});
  }

  async getPendingInterventions(query: { operationId?: string } = {}): Promise<LobeIntervention[]> {
    const { operationId } = query;
    const { pendingInterventions } = await this.#get<{ pendingInterventions: LobeIntervention[] }>(
      'human-intervention',
      operationId === undefined ? {} : { operationId },
    );
    return pendingInterventions;
  }

  /** Decides once; the same decision again changes nothing. */
  async processHumanIntervention(decision: LobeDecision): Promise<void> {
    await this.#post('human-intervention', decision);
  }

  /** Gives what a tool of the client has done: the operation that goes on, or the same while other calls are open. */
  submitToolResult(result: {
    operationId: string;
    toolCallId: string;
    content: unknown;
    error?: unknown;
  }): Promise<{ operationId: string; resumed: boolean }> {
    return this.#post('tool-result', result);
  }

  /** The stream of an operation as the answer to a request of a client. */
  stream(
    operationId: string,
    { lastEventId = '', subagents = false }: LobeStreamOptions = {},
  ): Promise<Response> {
    const query = new URLSearchParams({
      operationId,
      lastEventId,
      ...(subagents && { subagents: 'true' }),
    });
    return this.#ask(
      { method: 'GET', target: `/api/agent/stream?${String(query)}` },
      this.#principal,
    );
  }

  /**
   * Calls the hooks as the operation goes on, also behind an answer of the user. Resolves at its end. A later process
   * goes on with the id of the last event.
   */
  async watch(
    operationId: string,
    hooks: readonly LobeHook[],
    { lastEventId = '', signal }: LobeWatchOptions = {},
  ): Promise<void> {
    const calls = new HookCalls(operationId, hooks);
    if (lastEventId !== '') calls.know(await this.#known(operationId));
    let place = lastEventId;
    while (signal?.aborted !== true) {
      const response = await this.stream(operationId, { lastEventId: place });
      if (!response.ok) throw await failureOf(response);
      let reason: unknown;
      for await (const event of eventsOf(response, signal)) {
        place = event.id;
        await calls.take(event);
        if (event.type === 'agent_runtime_end') reason = event.data['reason'];
      }
      if (reason !== undefined && reason !== 'waiting_for_human') return;
      if (reason === undefined && (await this.#isOver(operationId))) return;
      await new Promise((resolve) => setTimeout(resolve, lookAgainMs).unref());
    }
  }

  // A watcher that comes back does not get the first event again.
  async #known(operationId: string): Promise<KnownOperation> {
    const { metadata } = await this.getOperationStatus(operationId);
    const { createdAt, ...rest } = metadata as unknown as Omit<KnownOperation, 'createdAt'> & {
      createdAt: string;
    };
    return { ...rest, createdAt: Date.parse(createdAt) };
  }

  async #isOver(operationId: string): Promise<boolean> {
    return !(await this.getOperationStatus(operationId)).isActive;
  }

  #get<T>(path: string, query: Record<string, string>): Promise<T> {
    return this.#json({
      method: 'GET',
      target: `/api/agent/${path}?${String(new URLSearchParams(query))}`,
    });
  }

  #post<T>(path: string, body: object): Promise<T> {
    const json = toJson(body, 'The request');
    return this.#json({ method: 'POST', target: `/api/agent/${path}`, json });
  }

  async #json<T>(request: OwnRequest): Promise<T> {
    const response = await this.#ask(request, this.#principal);
    const isLocked = response.status === 429;
    if (!response.ok && !isLocked) throw await failureOf(response);
    return (await response.json()) as T;
  }
}

async function failureOf(response: Response): Promise<MillraceError> {
  const { error, code } = (await response.json()) as { error: string; code?: string };
  const isKnown = code !== undefined && Object.hasOwn(errorTypes, code);
  return new MillraceError(isKnown ? (code as ErrorCode) : 'invalid_argument', error);
}

async function* eventsOf(
  response: Response,
  signal: AbortSignal | undefined,
): AsyncGenerator<LobeEvent> {
  if (!response.body) return;
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const leave = (): void => void reader.cancel();
  signal?.addEventListener('abort', leave, { once: true });
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      rest += decoder.decode(value, { stream: true });
      const frames = rest.split('\n\n');
      rest = frames.pop() ?? '';
      for (const frame of frames) {
        // Frames without an id are no events of the operation.
        if (frame.startsWith('id: '))
          yield JSON.parse(frame.slice(frame.indexOf('\ndata: ') + 7)) as LobeEvent;
      }
    }
  } finally {
    signal?.removeEventListener('abort', leave);
    void reader.cancel();
  }
}
