// A server that records one run as `millrace serve --storage` does, and cuts connections where a test wants it to.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import type { AGUIEvent } from 'millrace';

export const runId = `run_${'0123456789abcdef'.repeat(2)}`;

const frame = (event: object, id?: number): string =>
  `${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(event)}\n\n`;

/** Some records have several frames, of which the last has the number. */
const answer: [seq: number, ...events: object[]][] = [
  [2, { type: 'RUN_STARTED', threadId: 't', runId: 'r' }],
  [4, { type: 'TEXT_MESSAGE_START', messageId: 'm', role: 'assistant' }],
  [5, { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'one, ' }],
  [
    6,
    { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'two, ' },
    { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'three, ' },
    { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'four ü RUN_FINISHED' },
  ],
  [9, { type: 'TEXT_MESSAGE_END', messageId: 'm' }],
  [12, { type: 'RUN_FINISHED', threadId: 't', runId: 'r' }],
];

export interface Received {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: string;
}

/** What a connection does: `bytes` of the answer, then its end. */
export type Connection = (bytes: string, response: ServerResponse) => void;

export const whole: Connection = (bytes, response) => response.end(bytes);
/** Writes so much, and breaks the connection. */
export const cutAt =
  (count: number): Connection =>
  (bytes, response) => {
    response.write(Buffer.from(bytes).subarray(0, count), () =>
      // What was written arrives before the reset.
      setTimeout(() => response.socket?.destroy(), 5),
    );
  };
/** Answers with an error. */
export const fails =
  (status: number, code: string): Connection =>
  (_, response) => {
    response.removeHeader('millrace-run-id');
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: { code, message: `It is ${code}.` } }));
  };

function framesBehind(after: number, fresh: boolean): string[] {
  const open = answer.filter(([seq]) => seq <= after).flatMap(([, ...events]) => events);
  const began = open.some((event) => (event as { type: string }).type === 'TEXT_MESSAGE_START');
  const ended = open.some((event) => (event as { type: string }).type === 'TEXT_MESSAGE_END');
  const again = [
    { type: 'RUN_STARTED', threadId: 't', runId: 'r' },
    ...(began && !ended ? [{ type: 'TEXT_MESSAGE_START', messageId: 'm', role: 'assistant' }] : []),
  ];
  const rest = answer
    .filter(([seq]) => seq > after)
    .map(([seq, ...events]) =>
      events.map((event, at) => frame(event, at === events.length - 1 ? seq : undefined)).join(''),
    );
  return [...(fresh ? again.map((event) => frame(event)) : []), ...rest];
}

/** All bytes of the answer, as one connection gets them. */
export const allBytes = framesBehind(0, false).join('');
export const allEvents = answer.flatMap(([, ...events]) => events) as AGUIEvent[];

export class CuttingServer {
  readonly received: Received[] = [];
  /** What the next connections do; those after them give everything. */
  plan: Connection[] = [];
  /** Whether runs are recorded. */
  records = true;
  #server: Server | undefined;

  get url(): string {
    return `http://127.0.0.1:${(this.#server?.address() as AddressInfo).port}/agent`;
  }

  async open(): Promise<void> {
    const server = createServer((request, response) => void this.#answer(request, response));
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  }

  async close(): Promise<void> {
    this.#server?.closeAllConnections();
    await new Promise((resolve) => this.#server?.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const { method = '', url = '', headers } = request;
    this.received.push({ method, url, headers, body });
    const address = new URL(url, this.url);
    if (method === 'DELETE') {
      response.writeHead(202, { 'content-type': 'application/json' });
      response.end('{}');
      return;
    }
    if (headers.accept === 'application/json') {
      response.end(JSON.stringify({ id: runId, state: 'completed' }));
      return;
    }
    const after = Number(address.searchParams.get('after') ?? 0);
    const last = answer.at(-1)?.[0] ?? 0;
    if (this.records) response.setHeader('millrace-run-id', runId);
    const next = this.plan.shift() ?? whole;
    if (after >= last && next === whole) {
      response.writeHead(204).end();
      return;
    }
    response.setHeader('content-type', 'text/event-stream');
    const fresh = address.searchParams.get('fresh') === '1';
    next(framesBehind(after, fresh).join(''), response);
  }
}
