// The Response of a chat: a stream of bytes that the engine wrote, and callbacks beside it.
import { onAbort } from '../abort';
import { oneOf } from '../runs/taker';
import type { Call } from './call';
import type { CallBatch, CallItems } from './call-items';
import type { CallbackDriver } from './callbacks';

interface ChatParts {
  call: Call;
  /** Where events come beside the bytes. */
  items: CallItems | undefined;
  callbacks: CallbackDriver | undefined;
  signal: AbortSignal | null | undefined;
  headers: Record<string, string> | undefined;
}

const streamHeaders = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-cache, no-transform',
  'X-Accel-Buffering': 'no',
};

// An unread body keeps its connection; without a reader, it ends.
const unread = new FinalizationRegistry<Call>((call) => call.cancel());

/** Resolves when a provider took the call, rejects when none did. */
export async function chatResponse(parts: ChatParts): Promise<Response> {
  const { call, items, callbacks, signal, headers } = parts;
  const done = onAbort(signal, () => call.stop());
  const source = items ? new ItemBytes(items, callbacks, call) : new PlainBytes(call);
  try {
    await source.open();
  } catch (error) {
    done();
    throw signal?.aborted ? signal.reason : error;
  }
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const bytes = await source.read();
        if (bytes !== undefined) return controller.enqueue(bytes);
        done();
        controller.close();
      },
      cancel() {
        done();
        source.leave();
      },
    },
    { highWaterMark: 0 },
  );
  unread.register(body, call);
  return new Response(body, { headers: headersOf(headers) });
}

// Names are the same in any case: two of one are a list to their readers.
function headersOf(given: Record<string, string> = {}): Headers {
  const headers = new Headers(streamHeaders);
  for (const [name, value] of Object.entries(given)) headers.set(name, value);
  return headers;
}

interface ByteSource {
  open(): Promise<void>;
  read(): Promise<Uint8Array | undefined>;
  /** The reader is gone. */
  leave(): void;
}

class PlainBytes implements ByteSource {
  readonly #call: Call;

  constructor(call: Call) {
    this.#call = call;
  }

  open(): Promise<void> {
    return this.#call.open();
  }

  async read(): Promise<Uint8Array | undefined> {
    const bytes = (await this.#call.read()) as Buffer | undefined;
    return bytes && new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  leave(): void {
    this.#call.cancel();
  }
}

class ItemBytes implements ByteSource {
  readonly #items: CallItems;
  readonly #callbacks: CallbackDriver | undefined;
  readonly #call: Call;
  #early = '';
  #over = false;

  constructor(items: CallItems, callbacks: CallbackDriver | undefined, call: Call) {
    this.#items = items;
    this.#callbacks = callbacks;
    this.#call = call;
  }

  // Questions to user code come before a provider takes the call, so that reading begins at once.
  async open(): Promise<void> {
    while (!this.#call.opened) {
      const text = await this.#next();
      if (text !== undefined) this.#early += text;
      else if (this.#items.failure) throw this.#items.failure;
      else break;
    }
  }

  async read(): Promise<Uint8Array | undefined> {
    let text: string | undefined = this.#early;
    this.#early = '';
    while (text === '') text = await this.#next();
    return text === undefined ? undefined : new TextEncoder().encode(text);
  }

  leave(): void {
    this.#call.stop();
    // The callbacks want to know how it ends.
    void this.#drain();
  }

  async #drain(): Promise<void> {
    try {
      while ((await this.#next()) !== undefined);
    } catch {
      // No reader is left.
    }
  }

  async #next(): Promise<string | undefined> {
    if (this.#over) return undefined;
    try {
      const batch = await oneOf<CallBatch>((taker) => this.#items.next(taker));
      if (batch) {
        await this.#callbacks?.take(batch.events);
        return batch.text;
      }
    } catch (error) {
      this.#over = true;
      this.#call.cancel();
      await this.#callbacks?.end(this.#items.report, error);
      throw error;
    }
    this.#over = true;
    const { report, failure } = this.#items;
    const cut = failure?.code === 'output_limit_reached';
    await this.#callbacks?.end(report, cut ? undefined : failure);
    return undefined;
  }
}
