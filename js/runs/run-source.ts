// What a run's bytes are made of: events or a Response, and the options beside it.
import type { StreamProtocolAdapter } from '../../types/channels';
import type { AGUIEvent, MessagesSnapshotInput } from '../../types/events';
import { checkSignal } from '../abort';
import { EventStream } from '../adapters/event-stream';
import type { NativeRun } from '../addon';
import { MillraceError, rethrow } from '../errors';
import { checkSpelling } from '../known-names';
import type { Source } from '../transport/source';

export interface RunOptions {
  /** Of the client's input; default new ones. */
  threadId?: string | undefined;
  runId?: string | undefined;
  parentRunId?: string | undefined;
  /**
   * `protocolVersion` of the client's input; an agent's run knows it of its body. Absent means a client from before
   * AG-UI 1.0.
   */
  protocolVersion?: string | undefined;
  /** Reads the source when it is a Response. */
  adapter?: StreamProtocolAdapter | undefined;
  /** Ends the run with RUN_ERROR `cancelled`, and cancels the source. */
  signal?: AbortSignal | undefined;
  /** Milliseconds of silence after which a comment is sent; default 15,000, 0 for none. */
  keepAliveMs?: number | undefined;
}

type GivenEvent = AGUIEvent | MessagesSnapshotInput;
type Events = AsyncIterable<GivenEvent> | Iterable<GivenEvent>;

/** Events, or a Response together with the option `adapter`; either may still be on its way. */
export type RunSource = Events | Response | PromiseLike<Events | Response>;

/** Closes a source that was not opened. */
export function discard(source: RunSource, reason: unknown): void {
  void (async () => {
    const found = await source;
    if (isResponse(found)) await found.body?.cancel(reason);
    else await iteratorOf(found).return?.();
  })().catch(() => undefined);
}

/** What the run follows. `ended` is true when the bytes hold the terminal event already. */
export interface Opened {
  source: Source;
  ended: boolean;
}

/** Events, encoded by the run as they come. */
export function openEvents(run: NativeRun, events: Events): Opened {
  const iterator = iteratorOf(events);
  const atOnce = Symbol.asyncIterator in events ? 1 : batchSize;
  const push = (list: unknown[]): Buffer => {
    try {
      return run.push(JSON.stringify(list)) ?? nothing;
    } catch (error) {
      rethrow(error);
    }
  };
  const source: Source = {
    read: async () => {
      if (run.ended()) {
        await iterator.return?.();
        return undefined;
      }
      const list: unknown[] = [];
      while (list.length < atOnce) {
        const result = await iterator.next();
        if (result.done) break;
        list.push(result.value);
      }
      if (list.length === 0) return undefined;
      // What came in the same chunk goes out in one piece.
      if (iterator instanceof EventStream) list.push(...iterator.loaded());
      return push(list);
    },
    cancel: async () => {
      await Promise.resolve(iterator.return?.()).catch(() => undefined);
    },
  };
  return { source, ended: false };
}

const nothing = Buffer.alloc(0);

// Events of a synchronous iterable that cross to the engine at once.
const batchSize = 64;

function iteratorOf(events: Events): AsyncIterator<unknown> | Iterator<unknown> {
  if (Symbol.asyncIterator in events) return events[Symbol.asyncIterator]();
  return events[Symbol.iterator]();
}

export function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}

export function isResponse(value: unknown): value is Response {
  if (typeof value !== 'object' || value === null) return false;
  return 'body' in value && 'status' in value && 'headers' in value;
}

function isEvents(value: unknown): value is Events {
  if (typeof value !== 'object' || value === null) return false;
  return Symbol.asyncIterator in value || Symbol.iterator in value;
}

/** A run of an agent or a model knows its own ids, and what its client reads. */
export function textOfSource(
  source: RunSource,
  name: 'threadId' | 'runId' | 'protocolVersion',
): string | undefined {
  const text = (source as Partial<Record<typeof name, unknown>>)[name];
  return typeof text === 'string' ? text : undefined;
}

const names: readonly (keyof RunOptions)[] = [
  ...(['threadId', 'runId', 'parentRunId', 'protocolVersion', 'adapter', 'signal'] as const),
  'keepAliveMs',
];

/** Throws `invalid_argument` for what a run cannot be made of. */
export function checkOptions(source: unknown, options: RunOptions): void {
  const fail = (sentence: string): never => {
    throw new MillraceError('invalid_argument', sentence);
  };
  checkSpelling('The options of a run', options, names);
  if (!isPromise(source) && !isResponse(source) && !isEvents(source)) {
    fail('The source of a run must be an iterable of events, or a Response, or a promise of one.');
  }
  if (isResponse(source) && options.adapter === undefined) {
    fail(
      'A run whose source is a Response needs the option adapter, for instance openAIAdapter().',
    );
  }
  if (isResponse(source) && typeof options.adapter === 'function') {
    fail('The option adapter must be an adapter: call the function, for instance openAIAdapter().');
  }
  for (const name of ['threadId', 'runId', 'parentRunId', 'protocolVersion'] as const) {
    const value: unknown = options[name];
    if (value !== undefined && typeof value !== 'string') fail(`${name} must be a string.`);
  }
  checkSignal('The run', options.signal);
  const wait = options.keepAliveMs;
  if (wait !== undefined && !(Number.isSafeInteger(wait) && wait >= 0 && wait < 2 ** 31)) {
    fail('keepAliveMs must be a number of milliseconds, 0 or more.');
  }
}
