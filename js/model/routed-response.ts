// A chat that the channels of a router are asked for in turn, until one shows something of its answer.
import { StringDecoder } from 'node:string_decoder';

import type { ErrorCode } from '../../types/errors';
import type { ChatCallbacks } from '../../types/model';
import { errorTypes } from '../error-types';
import type { MillraceErrorDetails } from '../errors';
import { MillraceError } from '../errors';
import { isUnseen } from './routed-run';
import type { ChatOptions } from './runtime-options';

/** How a channel failed; undefined when it took the call. */
export type ChannelEnd = { error: unknown } | undefined;

/** One channel's turn. */
export interface Turn {
  /** No channel is called after it. */
  readonly isLast: boolean;
  /** The answer is its: what fails now is no channel's failure. */
  isTaken?: boolean;
  /** How it went, where that is known later than its answer is given. */
  end?: Promise<ChannelEnd>;
}

/**
 * The response of a channel. Of the last one it is given at once, as it is; of the others when it shows
 * something, and it rejects when they fail before.
 */
export async function routedResponse(
  chat: (call: ChatOptions) => Promise<Response>,
  call: ChatOptions,
  turn: Turn,
): Promise<Response> {
  const { callback, signal } = call;
  const held = callback && !turn.isLast ? new HeldCallbacks(callback) : undefined;
  try {
    const response = await chat(held ? { ...call, callback: held.callbacks } : call);
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
    const answer = response.body && isStream ? new Beginning(response, response.body) : undefined;
    if (turn.isLast) {
      if (answer) turn.end = answer.end;
    } else if (answer) {
      const failed = await answer.begun();
      if (failed) throw signal?.aborted ? (signal.reason as unknown) : failed.error;
    }
    turn.isTaken = true;
    try {
      await held?.give();
    } catch (error) {
      await answer?.response.body?.cancel(error);
      throw error;
    }
    return answer?.response ?? response;
  } catch (error) {
    held?.drop();
    throw error;
  }
}

/** A streamed response that is read up to where it shows something, and from there by its reader. */
class Beginning {
  readonly response: Response;
  /** Resolves with the first words, the failure before them, or without a reader. */
  readonly end: Promise<ChannelEnd>;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #words = new FirstWords();
  readonly #held: Uint8Array[] = [];
  #reported!: (end: ChannelEnd) => void;

  constructor(response: Response, body: ReadableStream<Uint8Array>) {
    this.#reader = body.getReader();
    this.end = new Promise((resolve) => (this.#reported = resolve));
    const stream = new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          const bytes = this.#held.shift() ?? (await this.#read());
          if (bytes) controller.enqueue(bytes);
          else controller.close();
        },
        cancel: (reason) => {
          this.#reported(undefined);
          return this.#reader.cancel(reason);
        },
      },
      { highWaterMark: 0 },
    );
    const { status, statusText, headers } = response;
    this.response = new Response(stream, { status, statusText, headers });
  }

  /** How it begins; what was read for that waits for the reader. */
  async begun(): Promise<ChannelEnd> {
    while (!this.#words.known) {
      const bytes = await this.#read();
      if (!bytes) break;
      this.#held.push(bytes);
    }
    const end = await this.end;
    if (end) void this.#reader.cancel().catch(() => undefined);
    return end;
  }

  async #read(): Promise<Uint8Array | undefined> {
    try {
      const { value } = await this.#reader.read();
      if (!this.#words.known) {
        if (value) this.#words.take(value);
        if (!value || this.#words.known) this.#reported(this.#words.failure);
      }
      return value;
    } catch (error) {
      this.#reported({ error });
      throw error;
    }
  }
}

// What LobeHub's stream says before and beside an answer.
const unseenOfLobe = new Set(['usage', 'speed', 'data']);

interface ErrorRecord {
  type?: unknown;
  message?: unknown;
  code?: unknown;
  body?: ErrorRecord;
  metadata?: { millrace?: MillraceErrorDetails };
}

/** Reads the events of either protocol until one shows something or is an error. */
class FirstWords {
  readonly #decoder = new StringDecoder('utf8');
  #rest = '';
  #name = '';
  known = false;
  failure: ChannelEnd;

  take(bytes: Uint8Array): void {
    const lines = (this.#rest + this.#decoder.write(Buffer.from(bytes))).split('\n');
    this.#rest = lines.pop() as string;
    for (const line of lines) {
      if (line === '') this.#name = '';
      else if (line.startsWith('event: ')) this.#name = line.slice(7);
      else if (line.startsWith('data: ')) this.#data(line.slice(6));
      if (this.known) return;
    }
  }

  #data(json: string): void {
    const record = parsed(json);
    const isLobe = this.#name !== '';
    const isError = isLobe ? this.#name === 'error' : record.type === 'RUN_ERROR';
    if (isError) this.failure = { error: errorOf(record) };
    this.known =
      isError || !(isLobe ? unseenOfLobe.has(this.#name) : isUnseen(String(record.type)));
  }
}

// A runtime of the host may stream what is no object.
function parsed(json: string): ErrorRecord {
  try {
    return (JSON.parse(json) ?? {}) as ErrorRecord;
  } catch {
    return {};
  }
}

function errorOf(record: ErrorRecord): unknown {
  const { code, message, metadata } = record.body ?? record;
  if (typeof code === 'string' && Object.hasOwn(errorTypes, code)) {
    return new MillraceError(code as ErrorCode, String(message), metadata?.millrace);
  }
  return { errorType: record.type, error: record.body ?? { message: record.message } };
}

/** Callbacks that hear of a channel only when its answer is the one that is given. */
class HeldCallbacks {
  readonly callbacks: ChatCallbacks;
  #calls: (() => unknown)[] | undefined = [];
  #dropped = false;
  #given: Promise<void> | undefined;

  constructor(own: ChatCallbacks) {
    this.callbacks = Object.fromEntries(
      Object.entries(own).map(([name, callback]) => [name, this.#heard(own, callback as Callback)]),
    );
  }

  /** Tells what was heard so far; what comes from now on follows it. */
  give(): Promise<void> {
    this.#given ??= this.#reportAll();
    return this.#given;
  }

  drop(): void {
    this.#dropped = true;
  }

  async #reportAll(): Promise<void> {
    for (const callback of this.#calls ?? []) await callback();
    this.#calls = undefined;
  }

  #heard(own: ChatCallbacks, callback: Callback): Callback {
    return async (...record) => {
      if (this.#dropped) return;
      const now = (): unknown => callback.apply(own, record);
      if (!this.#calls) await now();
      else this.#calls.push(now);
    };
  }
}

type Callback = (...record: unknown[]) => unknown;
