// One transfer of the engine's that a fetch function runs on this thread: requests come as the engine asks for
// them, what comes of them is told in its words.
import { MillraceError } from '../errors';
import { longestTimer } from '../limits';
import { shown } from '../shown';

/** A request as the engine asks for it; see append_request in lib/host/host_request.hpp. */
export interface HostRequest {
  method?: string;
  url?: string;
  headers?: [string, string][];
  body?: string;
  timeouts?: { firstByte: number; idle: number; total: number };
  limit?: number;
}

/** Who is told of a transfer; nothing after it was aborted or has ended. */
export interface TransferSink {
  /** Shape: { status, url, headers: [[name, value]] }. */
  head(json: string): void;
  data(bytes: Uint8Array): void;
  /** The code is "" for a complete body. */
  done(code: string, message: string): void;
  /** Waits until there is room for more data; undefined when there is. */
  room(): Promise<void> | undefined;
}

export class FetchTransfer {
  readonly #sink: TransferSink;
  readonly #clock: TransferClock;
  readonly #controller = new AbortController();
  #over = false;

  constructor(send: typeof fetch, request: HostRequest, sink: TransferSink) {
    this.#sink = sink;
    this.#clock = new TransferClock(request.timeouts, (code, limit) => {
      this.#end(code, `${lateness[code]} ${limit} ms.`);
      this.#controller.abort();
    });
    void this.#run(send, request);
  }

  abort(): void {
    this.#over = true;
    this.#clock.end();
    this.#controller.abort();
  }

  #end(code: string, message: string): void {
    if (this.#over) return;
    this.#over = true;
    this.#clock.end();
    this.#sink.done(code, message);
  }

  async #run(send: typeof fetch, request: HostRequest): Promise<void> {
    try {
      const response = await sent(send, request.url ?? '', {
        method: request.method ?? 'POST',
        headers: request.headers ?? [],
        ...(request.body === undefined ? {} : { body: request.body }),
        // Fetch sends headers of keys on to wherever it is sent.
        redirect: 'manual',
        signal: this.#controller.signal,
      });
      await this.#read(response, request.limit ?? 0);
    } catch (error) {
      this.#end(codeOf(error), textOf(error));
    }
  }

  async #read(response: Response, limit: number): Promise<void> {
    if (this.#over) return void response.body?.cancel().catch(() => undefined);
    this.#clock.received();
    const { status, url } = response;
    this.#sink.head(JSON.stringify({ status, url, headers: [...response.headers] }));
    const reader = response.body?.getReader();
    let size = 0;
    while (reader) {
      await this.#room();
      const chunk = await reader.read();
      if (this.#over) return void reader.cancel().catch(() => undefined);
      if (chunk.done) break;
      this.#clock.received();
      const bytes: unknown = chunk.value;
      const data = typeof bytes === 'string' ? Buffer.from(bytes) : (bytes as Uint8Array);
      size += data.length;
      if (limit > 0 && size > limit)
        throw new MillraceError('response_too_large', `The answer is larger than ${limit} bytes.`);
      this.#sink.data(data);
      if (this.#over) return void reader.cancel().catch(() => undefined);
    }
    this.#end('', '');
  }

  // Its clock of silence stands still meanwhile.
  async #room(): Promise<void> {
    for (let room = this.#sink.room(); room && !this.#over; room = this.#sink.room()) {
      this.#clock.pause();
      await room;
      if (!this.#over) this.#clock.received();
    }
  }
}

// A function that throws at once rejects like any other.
async function sent(send: typeof fetch, url: string, init: RequestInit): Promise<Response> {
  const response: unknown = await send(url, init);
  if (typeof (response as Partial<Response> | undefined)?.status === 'number') {
    return response as Response;
  }
  throw new MillraceError(
    'invalid_option',
    `The fetch function must return a Response, not ${shown(response)}.`,
  );
}

type Late = 'first_byte_timeout' | 'idle_timeout' | 'total_timeout';

const lateness: Readonly<Record<Late, string>> = {
  first_byte_timeout: 'No answer began within',
  idle_timeout: 'The answer was silent for',
  total_timeout: 'The call took longer than',
};

/** The limits in time that fetch itself has not. */
class TransferClock {
  readonly #idle: number;
  readonly #expire: (code: Late, limit: number) => void;
  readonly #total: NodeJS.Timeout | undefined;
  #silence: NodeJS.Timeout | undefined;

  constructor(timeouts: HostRequest['timeouts'], expire: (code: Late, limit: number) => void) {
    const [firstByte, idle, total] = [timeouts?.firstByte, timeouts?.idle, timeouts?.total].map(
      (limit = 0) => Math.min(limit, longestTimer),
    ) as [number, number, number];
    this.#idle = idle;
    this.#expire = expire;
    if (firstByte > 0) {
      this.#silence = setTimeout(() => expire('first_byte_timeout', firstByte), firstByte);
    }
    if (total > 0) this.#total = setTimeout(() => expire('total_timeout', total), total);
  }

  pause(): void {
    clearTimeout(this.#silence);
  }

  received(): void {
    clearTimeout(this.#silence);
    if (this.#idle === 0) return;
    this.#silence = setTimeout(() => this.#expire('idle_timeout', this.#idle), this.#idle);
  }

  end(): void {
    clearTimeout(this.#silence);
    clearTimeout(this.#total);
  }
}

// What a fetch function rejects with says little; nearly always the network is at fault.
function codeOf(error: unknown): string {
  if (MillraceError.is(error)) return error.code;
  const { cause } = (error ?? {}) as { cause?: { code?: unknown } };
  const code = cause?.code;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'name_resolution_failed';
  if (code === 'ECONNREFUSED') return 'connect_failed';
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return 'connect_timeout';
  return 'connection_lost';
}

function textOf(error: unknown): string {
  if (MillraceError.is(error)) return error.message;
  const { message, cause } = (error ?? {}) as { message?: unknown; cause?: { message?: unknown } };
  const received = [message, cause?.message].filter(
    (text) => typeof text === 'string' && text !== '',
  );
  return received.length > 0 ? `The fetch function failed: ${received.join(': ')}` : '';
}
