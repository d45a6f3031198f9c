// Takes the outputs of a model call apart: its events, the bytes beside them, its report, and the
// questions to user code, which are answered on the way.
import type { AGUIEvent } from '../../types/events';
import type {
  AttemptError,
  CallReport,
  CallRetry,
  ChatStreamPayload,
  HookedError,
  ModelHooks,
} from '../../types/model';
import { EngineEventReader } from '../adapters/engine-events';
import { MillraceError, errorFromNative } from '../errors';
import { isEvent } from '../runs/engine-items';
import type { ReplayBatch } from '../runs/replay-events';
import type { Taker } from '../runs/taker';
import { itemsOf } from '../transport/batches';
import type { Output } from '../transport/source';
import { markPart } from './answer-parts';
import type { Call } from './call';

/** What came at once. */
export interface CallBatch extends ReplayBatch {
  /** Of the protocol; "" when there are none. */
  readonly text: string;
}

interface HookRequest {
  id: number;
  hook: 'payload' | 'error' | 'events' | 'retry';
  value: unknown;
}

type Item =
  | AGUIEvent
  | string
  | ({ type: '@hook' } & HookRequest)
  | ({ type: '@report' } & CallReport)
  | { type: '@failed'; error: AttemptError }
  | { type: '@bytes'; text: string }
  | { type: '@parts'; on: boolean };

export class CallItems {
  readonly #call: Call;
  readonly #hooks: ModelHooks;
  readonly #payload: ChatStreamPayload;
  readonly #reader = new EngineEventReader({ extended: true, logSkipped: false });
  // Only while it waits: the call is kept for longer than its run.
  #taker: Taker<CallBatch> | undefined;
  #hookError: { value: unknown } | undefined;
  // What handleError gave as the body of the error that ended the attempt.
  #givenBody: unknown;
  #inParts = false;
  report: CallReport | undefined;
  failure: MillraceError | undefined;

  constructor(call: Call, payload: ChatStreamPayload, hooks: ModelHooks) {
    this.#call = call;
    this.#payload = payload;
    this.#hooks = hooks;
  }

  /** Gives the next batch; fails with what a hook threw. One call at a time. */
  next(taker: Taker<CallBatch>): void {
    this.#taker = taker;
    this.#call.next(this.#outputs);
  }

  readonly #outputs: Taker<Output> = {
    take: (output) => {
      let items: Item[];
      let batch: CallBatch;
      try {
        items = itemsOf<Item>(output);
        batch = this.#take(items, output as string);
      } catch (error) {
        this.#waiting().fail(error);
        return;
      }
      // A stop does not wait for user code.
      for (const item of items) if (isHookRequest(item)) void this.#answer(item);
      this.#waiting().take(batch);
    },
    end: () => {
      if (this.#hookError) this.#waiting().fail(this.#hookError.value);
      else this.#waiting().end();
    },
    fail: (error) => this.#waiting().fail(error),
  };

  #waiting(): Taker<CallBatch> {
    const taker = this.#taker as Taker<CallBatch>;
    this.#taker = undefined;
    return taker;
  }

  #take(items: Item[], output: string): CallBatch {
    const { mark } = this.#reader;
    // Mostly there is one, and a list that is filled takes room for many.
    let events: AGUIEvent[] | undefined;
    let text = '';
    for (const item of items) {
      if (isEvent(item)) {
        const event = this.#reader.read(item);
        if (!event) continue;
        if (isAnotherAttempt(event)) this.#givenBody = undefined;
        if (this.#inParts) markPart(event);
        if (events) events.push(event);
        else events = [event];
      } else if (item.type === '@bytes') text += item.text;
      else if (item.type === '@parts') this.#inParts = item.on;
      else if (item.type === '@report') this.report = reportOf(item);
      else if (item.type === '@failed') this.failure = this.#failureOf(item.error);
    }
    return { events: events ?? [], output, mark, text };
  }

  #failureOf(error: AttemptError): MillraceError {
    const body = error.code === 'cancelled' ? undefined : this.#givenBody;
    const known = body === undefined ? error : { ...error, error: body };
    return errorFromNative(JSON.stringify(known));
  }

  // A hook that fails ends the call: what it was to change must not go on unchanged.
  async #answer({ id, hook, value }: HookRequest): Promise<void> {
    let answer = '';
    try {
      const given = await this.#callHook(hook, value);
      checkAnswer(hook, given);
      if (hook === 'error') this.#givenBody = (given as HookedError | undefined)?.error;
      if (given !== undefined) answer = JSON.stringify(given);
    } catch (error) {
      this.#hookError ??= { value: error };
      this.#call.stop();
      return;
    }
    this.#call.complete(id, answer);
  }

  #callHook(hook: HookRequest['hook'], value: unknown): unknown {
    switch (hook) {
      case 'payload': {
        const { body, ...call } = value as {
          body: Record<string, unknown>;
          provider: string;
          model: string;
          url: string;
        };
        return this.#hooks.handlePayload?.(body, { ...call, payload: this.#payload });
      }
      case 'error': {
        const { error, ...call } = value as {
          error: AttemptError;
          provider: string;
          model: string;
        };
        return this.#hooks.handleError?.(error, call);
      }
      case 'events':
        return this.#hooks.handleStream?.(value as AGUIEvent[]);
      case 'retry':
        return this.#hooks.handleRetry?.(value as CallRetry);
    }
  }
}

const hookNames = {
  payload: 'handlePayload',
  error: 'handleError',
  events: 'handleStream',
  retry: 'handleRetry',
};

// What is neither nothing nor of the hook's shape would be sent, or read, as something else.
function checkAnswer(hook: HookRequest['hook'], answer: unknown): void {
  if (answer === undefined) return;
  const isList = Array.isArray(answer);
  const wanted = hook === 'events' ? 'a list of events' : 'an object';
  const isObject = typeof answer === 'object' && answer !== null;
  if (hook === 'events' ? isList : isObject && !isList) return;
  const given = answer === null ? 'null' : isList ? 'a list' : `a ${typeof answer}`;
  throw new MillraceError(
    'invalid_option',
    `The hook ${hookNames[hook]} must return ${wanted}, or undefined to change nothing, not ${given}.`,
  );
}

function isAnotherAttempt({ type, name }: { type: string; name?: unknown }): boolean {
  return type === 'CUSTOM' && (name === 'millrace.retry' || name === 'millrace.reset');
}

function isHookRequest(item: Item): item is { type: '@hook' } & HookRequest {
  return typeof item !== 'string' && item.type === '@hook';
}

function reportOf({ type, ...report }: { type: string } & CallReport): CallReport {
  void type;
  return report;
}
