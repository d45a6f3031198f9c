// A provider that misbehaves as it is told: many modes, over three APIs, streamed and not.
//
// A request names its mode in `model` and a label of its own in the first part of the path, so that
// "fails twice, then answers" can be counted for each call.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { callModes } from './fault-calls';
import { hostileModes } from './fault-hostile';
import type { Modes } from './fault-kit';
import { json, received } from './fault-kit';
import { statusModes } from './fault-statuses';
import { transportModes } from './fault-transport';
import { wireModes } from './fault-wires';
import type { Api } from './model-wires';
import { text } from './model-wires';

export type { Mode, Outcome } from './fault-kit';
export { callModes };
export { text as answerText };

export const modes: Modes = { ...wireModes, ...statusModes, ...transportModes, ...hostileModes };

const paths: Record<string, Api> = {
  '/v1/chat/completions': 'chat',
  '/v1/responses': 'responses',
  '/v1/messages': 'messages',
};

export interface FaultyProvider {
  readonly url: string;
  /** Requests of a label. */
  requests(label: string): number;
  /** When they came, in milliseconds. */
  times(label: string): number[];
  /** Everything that arrived at the origin that redirects lead to. */
  readonly strays: string[];
  close(): Promise<void>;
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export async function startFaultyProvider(): Promise<FaultyProvider> {
  const unmatched: string[] = [];
  const stranger = createServer((request, response) => {
    const { method, url, headers } = request;
    unmatched.push(JSON.stringify({ method, url, headers }));
    const back = new URL(url ?? '/', 'http://x').searchParams.get('to');
    if (back !== null) response.writeHead(307, { location: back }).end();
    else response.writeHead(401, json).end(JSON.stringify(received('', 'Who are you?')));
  });
  const elsewhere = await listen(stranger);
  const times = new Map<string, number[]>();
  const server = createServer({ maxHeaderSize: 1 << 18 }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const [, label = '', ...rest] = (request.url ?? '').split('/');
      const seen = times.get(label) ?? [];
      times.set(label, [...seen, performance.now()]);
      const api = paths[`/${rest.join('/')}`];
      const sent = Buffer.concat(chunks).toString('utf8');
      const body = JSON.parse(sent === '' ? '{}' : sent) as { model?: string; stream?: boolean };
      const mode = modes[body.model ?? ''] ?? callModes[body.model ?? ''];
      if (!api || !mode) return void response.writeHead(404).end();
      response.on('error', () => undefined);
      void mode.answer({
        api,
        streamed: body.stream === true,
        attempt: seen.length,
        request,
        response,
        label: `/${label}`,
        elsewhere,
      });
    });
  });
  server.on('connection', (socket) => socket.on('error', () => undefined));
  const url = await listen(server);
  const close = (one: Server): Promise<void> =>
    new Promise((resolve) => {
      one.close(() => resolve());
      one.closeAllConnections();
    });
  return {
    url,
    strays: unmatched,
    requests: (label) => times.get(label)?.length ?? 0,
    times: (label) => times.get(label) ?? [],
    close: async () => {
      await Promise.all([close(server), close(stranger)]);
    },
  };
}
