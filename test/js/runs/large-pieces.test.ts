// Long pieces of a run's bytes are memory of the engine: whoever reads them may do with them what other bytes allow.
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';

import { fetchLLM, openAIAdapter, toAGUIResponse } from 'millrace';

const root = join(__dirname, '../../..');
const words = 'word '.repeat(40_000);
const frame = (delta: object): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`;

let server: Server;
let url: string;

beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`${frame({ content: words })}${frame({ content: 'end' })}data: [DONE]\n\n`);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => server.close());

async function answer(): Promise<Response> {
  const adapter = openAIAdapter();
  const llm = fetchLLM({ url, streamAdapter: adapter });
  const { signal } = new AbortController();
  const response = await llm.send({ threadId: 't', messages: [], signal });
  return toAGUIResponse(response, { adapter, threadId: 't', runId: 'r' });
}

it('can be transferred, whole and one by one', async () => {
  let text = '';
  let longest = 0;
  for await (const piece of (await answer()).body as unknown as AsyncIterable<Uint8Array>) {
    expect(Buffer.isBuffer(piece)).toBe(true);
    longest = Math.max(longest, piece.length);
    const moved = structuredClone(piece, { transfer: [piece.buffer as ArrayBuffer] });
    // Node 20 copies such memory.
    expect(piece.length > 0 && 'transfer' in ArrayBuffer.prototype).toBe(false);
    text += Buffer.from(moved).toString();
  }
  expect(longest).toBeGreaterThan(64 << 10);
  expect(text).toContain(words);
});

it('outlive the thread that read them', async () => {
  const code = `
    const { parentPort, workerData } = require('node:worker_threads');
    const { fetchLLM, openAIAdapter, toAGUIResponse } = require(workerData.root);
    (async () => {
      const adapter = openAIAdapter();
      const llm = fetchLLM({ url: workerData.url, streamAdapter: adapter });
      const { signal } = new AbortController();
      const response = await llm.send({ threadId: 't', messages: [], signal });
      const { body } = toAGUIResponse(response, { adapter, threadId: 't', runId: 'r' });
      for await (const piece of body) parentPort.postMessage(piece, [piece.buffer]);
    })();`;
  const worker = new Worker(code, { eval: true, workerData: { root, url } });
  const pieces: Uint8Array[] = [];
  worker.on('message', (piece: Uint8Array) => pieces.push(piece));
  const [exitCode] = (await once(worker, 'exit')) as [number];
  expect(exitCode).toBe(0);
  expect(Buffer.concat(pieces).toString()).toContain(words);
});
