// The outputs of a Response's body in a page: what the engine's pipes "payloads" and "records" give in Node.
import { errorRecordOf } from '../adapters/payload-events';
import { MillraceError } from '../errors';
import { memberOf } from '../thrown';
import type { Source } from '../transport/body';
import { bodyOf, leaveBody } from '../transport/body';
import type { SseLimits, SseRecord } from './server-sent-events';
import { SseFraming } from './server-sent-events';

// No record can hold it. An empty record announces an error.
const terminator = '\r';
const sentinel = '[DONE]';
const defaultBytes = 8 * 1024 * 1024;
// Of a body without a record, to find an error that is plain JSON.
const headBytes = 64 * 1024;

type Chunk = Awaited<ReturnType<ReadableStreamDefaultReader<Uint8Array>['read']>>;

interface Splitter {
  feed(bytes: Uint8Array): void;
  finish(): void;
  take(): string;
}

/** The texts of the records, as a PayloadEventReader takes them. */
export function openPayloads(response: Response, limits: Partial<SseLimits>): Source {
  return new PageSource(response, new Payloads(limits));
}

/** Names, ids and texts of the records, as a ChatReader takes them. */
export function openRecords(response: Response): Source {
  return new PageSource(response, new NamedRecords());
}

class PageSource implements Source {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #splitter: Splitter;
  #ended = false;

  constructor(response: Response, splitter: Splitter) {
    this.#reader = bodyOf(response).getReader();
    this.#splitter = splitter;
  }

  async read(): Promise<string | undefined> {
    while (!this.#ended) {
      const { done, value } = await this.#next();
      const output = this.#split(() => {
        if (done) this.#splitter.finish();
        else this.#splitter.feed(value);
      });
      if (output !== '') return output;
    }
    return undefined;
  }

  async #next(): Promise<Chunk> {
    try {
      const result = await this.#reader.read();
      if (result.done) this.#ended = true;
      else if (!(result.value instanceof Uint8Array)) throw wrongChunk();
      return result;
    } catch (error) {
      this.#ended = true;
      throw error;
    }
  }

  #split(work: () => void): string {
    try {
      work();
    } catch (error) {
      void this.cancel();
      const said = { code: memberOf(error, 'code'), message: memberOf(error, 'message') };
      return `${this.#splitter.take()}${terminator}${JSON.stringify({ ...said, retry: 'no' })}${terminator}`;
    }
    return this.#splitter.take();
  }

  cancel(reason?: unknown): Promise<void> {
    this.#ended = true;
    leaveBody(this.#reader, reason);
    return Promise.resolve();
  }
}

function wrongChunk(): MillraceError {
  return new MillraceError('invalid_argument', 'The response body must give Uint8Array chunks.');
}

class Payloads implements Splitter {
  readonly #framing: SseFraming;
  readonly #head = new Head(headBytes);
  #out = '';

  constructor({ lineBytes = defaultBytes, eventBytes = defaultBytes }: Partial<SseLimits>) {
    this.#framing = new SseFraming({
      lineBytes,
      eventBytes,
      completeJson: true,
      give: ({ data }) => {
        this.#head.close();
        this.#give(data.trim());
      },
    });
  }

  feed(bytes: Uint8Array): void {
    this.#head.add(bytes);
    this.#framing.feed(bytes);
  }

  finish(): void {
    this.#framing.finish();
    const text = this.#head.text().trim();
    if (text === '') return;
    try {
      const value: unknown = JSON.parse(text);
      if (errorRecordOf(value)) this.#give(JSON.stringify(value));
    } catch {
      // Not JSON, then no error that could be read.
    }
  }

  #give(payload: string): void {
    if (payload !== '' && payload !== sentinel) this.#out += payload + terminator;
  }

  take(): string {
    const out = this.#out;
    this.#out = '';
    return out;
  }
}

class NamedRecords implements Splitter {
  readonly #framing = new SseFraming({
    lineBytes: defaultBytes,
    eventBytes: defaultBytes,
    completeJson: false,
    give: (record) => this.#give(record),
  });
  readonly #body = new Head(defaultBytes);
  #out = '';

  feed(bytes: Uint8Array): void {
    this.#body.add(bytes);
    this.#framing.feed(bytes);
    if (!this.#body.isFull) return;
    throw new MillraceError(
      'event_too_large',
      `A body without a record is larger than ${defaultBytes} bytes.`,
    );
  }

  // A body without a record is one text; one of comments alone says nothing.
  finish(): void {
    this.#framing.finish();
    const text = this.#body.text();
    if (text.trim() === '' || text.startsWith(':')) return;
    this.#out += `text\n\n${JSON.stringify(text)}${terminator}`;
  }

  #give({ event, id, data }: SseRecord): void {
    this.#body.close();
    const payload = data.trim();
    if (payload === '' || payload === sentinel) return;
    this.#out += `${event}\n${id}\n${payload}${terminator}`;
  }

  take(): string {
    const out = this.#out;
    this.#out = '';
    return out;
  }
}

/** The beginning of a body in which no record was found yet. */
class Head {
  readonly #limit: number;
  #pieces: Uint8Array[] | undefined = [];
  #bytes = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Whether the limit is reached without a record. */
  get isFull(): boolean {
    return this.#pieces !== undefined && this.#bytes >= this.#limit;
  }

  add(bytes: Uint8Array): void {
    if (this.#bytes < this.#limit) this.#pieces?.push(bytes.slice(0, this.#limit - this.#bytes));
    this.#bytes += bytes.length;
  }

  close(): void {
    this.#pieces = undefined;
  }

  text(): string {
    if (this.#pieces === undefined || this.#bytes > this.#limit) return '';
    const decoder = new TextDecoder();
    const texts = this.#pieces.map((piece) => decoder.decode(piece, { stream: true }));
    return texts.join('') + decoder.decode();
  }
}
