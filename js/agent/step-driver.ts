// Carries one step of the engine's state machine out: it asks for actions, JavaScript answers them.
import type { AgentEvent, AgentStepResult } from '../../types/agent';
import { onAbort } from '../abort';
import type { NativeAgentStep } from '../addon';
import { rethrow } from '../errors';
import { longestTimer } from '../limits';
import { type AgentErrorRecord, reviveError, toJson } from '../serialize';
import { actionFailure } from './action-failure';

interface Action {
  id: number;
  kind: string;
  payload: Record<string, unknown>;
}

interface Todo {
  actions: Action[];
  events: AgentEvent[];
  cancelled: number[];
  /** When the time of the run is over. */
  deadlineMs?: number;
  outcome?: AgentStepResult;
}

/** What an action's handler gets besides the payload. */
export interface ActionTools {
  signal: AbortSignal;
  /** Reports a piece of a model's answer. */
  progress: (chunk: unknown) => void;
}

export type ActionHandler = (payload: never, tools: ActionTools) => unknown;

/** Where a step's actions are carried out. */
export interface StepHost {
  handlers: Record<string, ActionHandler>;
  /** Called for each event as it happens; what it throws is the caller's, not the step's. */
  onEvent?: ((event: AgentEvent) => void) | undefined;
  signal?: AbortSignal | undefined;
}

// Callers may test for an Error, and JSON has to carry it: it is both.
export function withErrors<T extends AgentEvent>(event: T): T {
  if ((event.type === 'error' || event.type === 'compression_error') && isRecord(event.error)) {
    event.error = reviveError(event.error);
  }
  return event;
}

function isRecord(error: unknown): error is AgentErrorRecord {
  return typeof (error as { message?: unknown } | null)?.message === 'string';
}

/** Calls the reader. What it throws is surfaced as an uncaught exception, and the step goes on. */
export function emit<Event>(onEvent: ((event: Event) => void) | undefined, event: Event): void {
  try {
    onEvent?.(event);
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}

/** Carries one step out. */
export class StepDriver {
  readonly #step: NativeAgentStep;
  readonly #host: StepHost;
  readonly #running = new Map<number, AbortController>();
  #resolve!: (result: AgentStepResult) => void;
  #reject!: (error: unknown) => void;
  #over = false;
  #deadline: NodeJS.Timeout | undefined;

  constructor(step: NativeAgentStep, host: StepHost) {
    this.#step = step;
    this.#host = host;
  }

  /** Runs to the end of the step that `start` begins. */
  run(start: (step: NativeAgentStep) => string): Promise<AgentStepResult> {
    const { signal } = this.#host;
    const stop = (): void => {
      this.#apply(() => this.#step.abort(reasonOf(signal), Date.now()));
    };
    return new Promise<AgentStepResult>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.#apply(() => {
        const first = start(this.#step);
        return signal?.aborted ? this.#step.abort(reasonOf(signal), Date.now()) : first;
      });
    }).finally(onAbort(signal, stop));
  }

  #apply(call: () => string): void {
    if (this.#over) return;
    let todo: Todo;
    try {
      todo = JSON.parse(call()) as Todo;
    } catch (error) {
      this.#fail(error);
      return;
    }
    for (const id of todo.cancelled) this.#running.get(id)?.abort();
    for (const event of todo.events) emit(this.#host.onEvent, withErrors(event));
    if (todo.outcome) return this.#finish(todo.outcome);
    if (todo.deadlineMs !== undefined) this.#watch(todo.deadlineMs);
    for (const action of todo.actions) void this.#perform(action);
  }

  // Who never answers holds the run no longer than its limit.
  #watch(deadlineMs: number): void {
    this.#deadline ??= this.#waitFor(Math.max(0, deadlineMs - Date.now()));
  }

  // What no timer can wait for comes in parts. A clock that is set back meanwhile gives no more time.
  #waitFor(rest: number): NodeJS.Timeout {
    return setTimeout(
      () => {
        if (rest > longestTimer) this.#deadline = this.#waitFor(rest - longestTimer);
        else this.#apply(() => this.#step.expire(Date.now()));
      },
      Math.min(rest, longestTimer),
    );
  }

  #finish(outcome: AgentStepResult): void {
    this.#over = true;
    clearTimeout(this.#deadline);
    for (const controller of this.#running.values()) controller.abort();
    this.#running.clear();
    outcome.events.forEach(withErrors);
    if (isRecord(outcome.newState.error)) {
      outcome.newState.error = reviveError(outcome.newState.error);
    }
    this.#resolve(outcome);
  }

  #fail(error: unknown): void {
    this.#over = true;
    clearTimeout(this.#deadline);
    for (const controller of this.#running.values()) controller.abort();
    try {
      rethrow(error);
    } catch (known) {
      this.#reject(known);
    }
  }

  async #perform({ id, kind, payload }: Action): Promise<void> {
    const controller = new AbortController();
    this.#running.set(id, controller);
    const tools: ActionTools = {
      signal: controller.signal,
      progress: (chunk) => {
        if (chunk === undefined) return;
        const json = toJson(chunk, 'chunk');
        this.#apply(() => this.#step.progress(id, json));
      },
    };
    try {
      const handler = this.#host.handlers[kind];
      const result = await handler?.(payload as never, tools);
      const json = result === undefined ? 'null' : toJson(result, kind);
      this.#running.delete(id);
      this.#apply(() => this.#step.complete(id, json, Date.now()));
    } catch (thrown) {
      this.#running.delete(id);
      const json = JSON.stringify(actionFailure(kind, thrown));
      this.#apply(() => this.#step.fail(id, json, Date.now()));
    }
  }
}

function reasonOf(signal: AbortSignal | undefined): string {
  const reason: unknown = signal?.reason;
  if (typeof reason === 'string') return reason;
  return reason instanceof Error && reason.name !== 'AbortError' ? reason.message : 'aborted';
}
