// Where a reader's outputs come from: a pipe on this thread, fed with the bytes of any Response, or
// a pipe of the engine, whose thread has the bytes.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { types } from 'node:util';

import type { PipeKind } from '../addon';
import { addon } from '../addon';
import { MillraceError, rethrow } from '../errors';
import { memberOf, messageOf } from '../thrown';
import { engineBodyOf } from './engine-body';

/** What a pipe gives: text for payloads and events, bytes otherwise. */
export type Output = string | Buffer;

/** Takes outputs as they come, without a promise for each. */
export interface Sink {
  /** True to be given more; false stops until flow() is called again. */
  data(output: Output): boolean;
  /** Nothing follows. `error` holds the body's own error, if it broke. */
  end(error: { value: unknown } | undefined): void;
}

/** One output after the other; `read` must not be called again before it settled. */
export interface Source {
  /** The next output; undefined at the end. Rejects with the body's own error. */
  read(): Promise<Output | undefined>;
  /** Instead of read(), where the engine has the bytes. Does nothing while it flows. */
  flow?(sink: Sink): void;
  /** Stops the body; what is being read ends. */
  cancel(reason?: unknown): Promise<void>;
}

/** What a pipe is made of; see read_pipe_spec in lib/app/pipe.hpp. */
export interface PipeSpec {
  kind: PipeKind;
  options: Record<string, unknown>;
}

/** Takes over the body of `response`. */
export function openSource(response: Response, spec: PipeSpec): Source {
  if (typeof response !== 'object' || response === null) {
    throw new MillraceError('invalid_argument', 'parse() takes a Response.');
  }
  const body: unknown = response.body;
  if (body === null || body === undefined) throw new Error('No response body');
  if (typeof (body as Partial<ReadableStream>).getReader !== 'function') {
    throw new MillraceError(
      'invalid_argument',
      'parse() needs a Response whose body is a ReadableStream; convert it with Readable.toWeb.',
    );
  }
  const stream = body as ReadableStream<Uint8Array>;
  if (response.bodyUsed || stream.locked) {
    throw new MillraceError(
      'response_used',
      'The response body is already read or locked. Parse each response once, or clone it first.',
    );
  }
  return engineBodyOf(stream)?.open(stream, spec) ?? new ForeignSource(stream, spec);
}

// No native call gets more, so that the event loop never waits long for one.
const sliceBytes = 1 << 20;

class ForeignSource implements Source {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #pipe;
  // The rest of a chunk larger than one slice.
  #rest: Uint8Array | undefined;
  #ended = false;

  constructor(stream: ReadableStream<Uint8Array>, spec: PipeSpec) {
    try {
      this.#pipe = new (addon().Pipe)(spec.kind, JSON.stringify(spec.options));
    } catch (error) {
      rethrow(error);
    }
    this.#reader = stream.getReader();
  }

  async read(): Promise<Output | undefined> {
    const first = this.#pipe.take();
    if (first !== undefined) return first;
    while (!this.#ended) {
      const output = await this.#step();
      if (output !== undefined) return output;
    }
    return undefined;
  }

  async #step(): Promise<Output | undefined> {
    if (this.#rest) {
      await nextTurn();
      return this.#feed(this.#rest);
    }
    let chunk: Awaited<ReturnType<ReadableStreamDefaultReader<Uint8Array>['read']>>;
    try {
      chunk = await this.#reader.read();
    } catch (error) {
      return this.#fail(error);
    }
    if (!chunk.done) return this.#feed(bytesOf(chunk.value));
    this.#ended = true;
    return this.#pipe.finish();
  }

  #feed(bytes: Uint8Array): Output | undefined {
    const slice = bytes.length > sliceBytes ? bytes.subarray(0, sliceBytes) : bytes;
    this.#rest = slice === bytes ? undefined : bytes.subarray(sliceBytes);
    const output = this.#pipe.feed(slice);
    if (this.#pipe.done()) void this.cancel();
    return output;
  }

  #fail(error: unknown): Output | undefined {
    this.#ended = true;
    const isAbort = memberOf(error, 'name') === 'AbortError';
    if (isAbort || !this.#pipe.fail('connection_lost', messageOf(error))) throw error;
    return this.#pipe.take();
  }

  cancel(reason?: unknown): Promise<void> {
    this.#ended = true;
    this.#rest = undefined;
    leaveBody(this.#reader, reason);
    return Promise.resolve();
  }
}

/**
 * Cancels a body without waiting for that: one branch of a tee is cancelled when the other one is. A body that fails
 * meanwhile has nothing more to say, and a stand-in of a test may have no cancel().
 */
export function leaveBody(
  body: Partial<Pick<ReadableStream, 'cancel'>> | null,
  reason?: unknown,
): void {
  try {
    body?.cancel?.(reason).catch(() => undefined);
  } catch {
    // It threw instead of rejecting.
  }
}

// Bodies made by hand may hold strings or other views than bytes.
function bytesOf(chunk: unknown): Uint8Array {
  if (chunk instanceof Uint8Array || Buffer.isBuffer(chunk)) return chunk;
  if (ArrayBuffer.isView(chunk)) {
    return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  }
  if (types.isAnyArrayBuffer(chunk)) return new Uint8Array(chunk);
  if (typeof chunk === 'string') return Buffer.from(chunk);
  throw new MillraceError('invalid_argument', 'The response body must give Uint8Array chunks.');
}
