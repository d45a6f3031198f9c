// Where a reader's outputs come from: a pipe on this thread, fed with the bytes of any Response, or
// a pipe of the engine, whose thread has the bytes.
import { types } from 'node:util';

import { addon } from '../addon';
import { MillraceError, rethrow } from '../errors';
import { nextTurn } from '../real-timers';
import { kindOf } from '../shown';
import { memberOf, messageOf } from '../thrown';
import type { Output, Source } from './body';
import { bodyOf, leaveBody } from './body';
import { engineBodyOf, type PipeSpec } from './engine-body';

export type { Output, Sink, Source } from './body';
export { leaveBody } from './body';

/** Takes over the body of `response`. */
export function openSource(response: Response, spec: PipeSpec): Source {
  const stream = bodyOf(response);
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

// Bodies made by hand may hold strings or other views than bytes.
function bytesOf(chunk: unknown): Uint8Array {
  if (chunk instanceof Uint8Array || Buffer.isBuffer(chunk)) return chunk;
  if (ArrayBuffer.isView(chunk)) {
    return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  }
  if (types.isAnyArrayBuffer(chunk)) return new Uint8Array(chunk);
  if (typeof chunk === 'string') return Buffer.from(chunk);
  throw new MillraceError(
    'invalid_argument',
    `The response body must give Uint8Array chunks, not ${kindOf(chunk)}.`,
  );
}
