// What the modes of the faulty provider are made of.
import type { IncomingMessage, ServerResponse } from 'node:http';

import type { Answer, Api, WireRecord } from './model-wires';
import { bytesOf, deltas, headOf, recordsOf, usage, wholeOf } from './model-wires';

/**
 * What must become of a call: `complete` after one request, `retried` to success after `fails`
 * failures, `fatal` after one request, `partial` when a part of the answer came and an error,
 * `exhausted` after all retries.
 */
export type Outcome = 'complete' | 'retried' | 'fatal' | 'partial' | 'exhausted';

export interface Context {
  api: Api;
  streamed: boolean;
  /** From 0. */
  attempt: number;
  request: IncomingMessage;
  response: ServerResponse;
  /** The address of this request, without the path's end that names the API. */
  label: string;
  /** Another origin, where everything that arrives is noted. */
  elsewhere: string;
}

export interface Mode {
  outcome: Outcome;
  /** How often it fails before it answers. */
  fails?: number;
  /** The code of the error. */
  code?: string;
  /** Only with streams, or only without. */
  only?: 'stream' | 'json';
  apis?: readonly Api[];
  /** The text, where it is not the usual one. */
  text?: string;
  /** Whether the provider's tokens are booked as it reported them; default true. */
  reported?: false;
  /** The wait before the second request, at least and at most, in milliseconds. */
  waits?: [least: number, most: number];
  /** How many requests arrive, where the client sends more than it books: redirects. */
  requests?: number;
  /** It goes quiet: only a time limit ends it. */
  silent?: true;
  /** What fetch itself does otherwise: it decodes, follows and limits by its own rules. */
  notOverFetch?: true;
  answer(context: Context): void | Promise<void>;
}

export type Modes = Record<string, Mode>;

export const sse = { 'content-type': 'text/event-stream' };
export const json = { 'content-type': 'application/json' };
export const good: Answer = { deltas, usage };

/** Answers with these records, or in one piece. */
export function answerWith({ api, streamed, response }: Context, answer: Answer): void {
  if (streamed) response.writeHead(200, sse).end(bytesOf(recordsOf(api, answer)));
  else response.writeHead(200, json).end(JSON.stringify(wholeOf(api, answer)));
}

export function answerWell(context: Context): void {
  answerWith(context, good);
}

export const goodBytes = (api: Api): string => bytesOf(recordsOf(api, good));
export const goodJson = (api: Api): string => JSON.stringify(wholeOf(api, good));
/** The records up to the middle of the text. */
export const beginning = (api: Api): string => bytesOf(headOf(api, good));

/** Sends this body, whatever was asked for. */
export function raw(
  make: (api: Api) => string | Buffer,
  headers: Record<string, string> = sse,
): Mode['answer'] {
  return ({ api, response }) => {
    response.writeHead(200, headers).end(make(api));
  };
}

/** Streams the good answer's records, changed. */
export function records(
  change: (records: WireRecord[], api: Api) => WireRecord[],
  answer = good,
): Mode['answer'] {
  return raw((api) => bytesOf(change(recordsOf(api, answer), api)));
}

/** Changes the JSON of each record that has JSON. */
export function edited(
  change: (record: Record<string, unknown>, api: Api) => unknown,
): Mode['answer'] {
  return records((all, api) =>
    all.map((record) => {
      if (record.data === '[DONE]') return record;
      const value = JSON.parse(record.data) as Record<string, unknown>;
      return { ...record, data: JSON.stringify(change(value, api)) };
    }),
  );
}

export function refusal(
  status: number,
  body: unknown,
  headers: Record<string, string | string[]> = {},
): Mode['answer'] {
  return ({ response }) => {
    const sent = typeof body === 'string' ? body : JSON.stringify(body);
    response.writeHead(status, { ...json, ...headers }).end(sent);
  };
}

/** Fails some times, then answers well. */
export function failing(times: number, fail: Mode['answer'], more: Partial<Mode> = {}): Mode {
  return {
    outcome: 'retried',
    fails: times,
    answer: (context) => (context.attempt < times ? fail(context) : answerWell(context)),
    ...more,
  };
}

/** A stream that is whole for all its oddity. */
export function ok(answer: Mode['answer'], more: Partial<Mode> = {}): Mode {
  return { outcome: 'complete', only: 'stream', answer, ...more };
}

/** An answer in one piece that is whole for all its oddity. */
export function okWhole(answer: Mode['answer'], more: Partial<Mode> = {}): Mode {
  return { outcome: 'complete', only: 'json', answer, ...more };
}

export function fatal(code: string, answer: Mode['answer'], more: Partial<Mode> = {}): Mode {
  return { outcome: 'fatal', code, answer, ...more };
}

export function partial(code: string, answer: Mode['answer'], more: Partial<Mode> = {}): Mode {
  return { outcome: 'partial', code, only: 'stream', answer, ...more };
}

/** Writes bytes past Node's HTTP, so that they may be wrong. */
export function socketBytes(make: (api: Api, streamed: boolean) => string | Buffer, end = true) {
  return ({ api, streamed, request }: Context): void => {
    const { socket } = request;
    socket.write(make(api, streamed), () => {
      if (end) socket.destroySoon();
    });
  };
}

export async function inPieces(
  response: ServerResponse,
  bytes: Buffer,
  size: number,
): Promise<void> {
  response.writeHead(200, sse);
  for (let at = 0; at < bytes.length; at += size) {
    response.write(bytes.subarray(at, at + size));
    await new Promise((resolve) => setImmediate(resolve));
  }
  response.end();
}

/** One more part of an answer: a text; of chat completions a tool call. */
export const part: Record<Api, (number: number) => string> = {
  chat: (n) =>
    `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":${n},"id":"call_${n}",` +
    `"type":"function","function":{"name":"f","arguments":"{}"}}]}}]}\n\n`,
  responses: (n) =>
    `data: {"type":"response.output_item.added","output_index":${n},"item":{"type":"message",` +
    `"id":"msg_x${n}","role":"assistant","content":[]}}\n\n` +
    `data: {"type":"response.output_text.delta","output_index":${n},"item_id":"msg_x${n}",` +
    `"content_index":0,"delta":"more "}\n\n` +
    `data: {"type":"response.output_item.done","output_index":${n},"item":{"type":"message",` +
    `"id":"msg_x${n}","role":"assistant","content":[]}}\n\n`,
  messages: (n) =>
    `event: content_block_start\ndata: {"type":"content_block_start","index":${n},` +
    `"content_block":{"type":"thinking","thinking":"so ","signature":""}}\n\n` +
    `event: content_block_delta\ndata: {"type":"content_block_delta","index":${n},` +
    `"delta":{"type":"signature_delta","signature":"abcdefghijklmnop"}}\n\n` +
    `event: content_block_stop\ndata: {"type":"content_block_stop","index":${n}}\n\n`,
};

/** Parts without end, a hundred at a time. */
export function endlessParts(): (api: Api) => string {
  let count = 100;
  return (api) => {
    let text = '';
    for (let more = 0; more < 100; more += 1) text += part[api]((count += 1));
    return text;
  };
}

/** A piece of the answer's text. */
export const delta: Record<Api, string> = {
  chat: 'data: {"choices":[{"index":0,"delta":{"content":"more "}}]}\n\n',
  responses:
    'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","output_index":0,' +
    '"item_id":"msg_1","content_index":0,"delta":"more "}\n\n',
  messages:
    'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,' +
    '"delta":{"type":"text_delta","text":"more "}}\n\n',
};

/** Sends `first`, then `filler` for as long as somebody reads. */
export function endless(
  first: (api: Api) => string,
  filler: (api: Api) => string,
  headers: Record<string, string> = sse,
): Mode['answer'] {
  return ({ api, response }) => {
    response.writeHead(200, headers);
    response.on('error', () => undefined);
    const begin = first(api);
    if (begin !== '') response.write(begin);
    const more = (): void => {
      while (!response.destroyed && response.write(filler(api)));
    };
    response.on('drain', more);
    more();
  };
}

export const received = (code: string, message: string): object => ({
  error: { message, type: code, code },
});
