// Readers that take nothing of what waits for them: they are let go, and the job goes on.
// Begins first: it waits until clients count as stalled.
import { createServer, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';

import { type Api, cleanUp, framesIn, type Json, key, serve, withKey } from './kit';

const readerStallMs = 400;
// Longer than a busy machine keeps a client from reading.
const slowStallMs = 4000;
const pieces = 200;
const large = 32 * 1024 * 1024;
const closers: (() => void)[] = [];

afterEach(async () => {
  await cleanUp();
  for (const close of closers.splice(0)) close();
});

/** A runtime with a job that has made about a megabyte, and goes on until it is stopped. */
async function busyRuntime(
  stallMs = readerStallMs,
): Promise<{ api: Api; job: string; events: string }> {
  const api = await serve('fetch', {
    api: { keys: [{ key }], readerStallMs: stallMs },
    agent: async (_turn, context) => {
      for (let at = 0; at < pieces; at += 1) {
        await context.emit('tool_start', { tool_call_id: `c${at}`, name: 'f', arguments: {} });
        const ended = { tool_call_id: `c${at}`, name: 'f', ok: true, result: 'x'.repeat(5000) };
        await context.emit('tool_end', ended);
      }
      await new Promise((resolve) => context.signal.addEventListener('abort', resolve));
      return 'stopped';
    },
  });
  const json = { message: 'go' };
  const { job_id: job } = await api.json('/api/v1/chat/jobs', 202, {
    ...{ method: 'POST', headers: withKey, json },
  });
  const events = `/api/v1/chat/jobs/${job as string}/events`;
  const frames = await take(await stream(api, events), (known) => known.length >= 2 * pieces);
  expect(frames.length).toBeGreaterThanOrEqual(2 * pieces);
  return { api, job: job as string, events };
}

async function stream(api: Api, path: string, more = {}): Promise<ReadableStream<Uint8Array>> {
  const headers = { ...withKey, accept: 'text/event-stream', ...more };
  const { body } = await api.send(path, { headers });
  return body as ReadableStream<Uint8Array>;
}

/** What a reader gets until there is enough of it; then it leaves. */
async function take(
  body: ReadableStream<Uint8Array>,
  isEnough: (frames: Json[]) => boolean,
): Promise<Json[]> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  while (!isEnough(framesIn(text))) {
    const { done, value } = await reader.read();
    if (done) break;
    text += String(value);
  }
  await reader.cancel();
  return framesIn(text);
}

async function readers(api: Api): Promise<number> {
  const text = await (await api.send('/metrics', { headers: withKey })).text();
  return Number(/^millrace_readers (\d+)$/m.exec(text)?.[1]);
}

async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => setTimeout(resolve, 20));
}

describe('a reader of runtime.fetch that takes nothing', () => {
  it('gets an error in place of the rest, and the rest by its cursor', async () => {
    const { api, job, events } = await busyRuntime();
    const reader = (await stream(api, events)).getReader();
    expect((await reader.read()).done).toBe(false);
    await expect(reader.closed).rejects.toMatchObject({
      code: 'connection_lost',
      message: expect.stringContaining(`took nothing for ${readerStallMs} ms`),
    });
    await expect(reader.read()).rejects.toMatchObject({ code: 'connection_lost' });
    await until(async () => (await readers(api)) === 0);
    const rest = await take(
      await stream(api, events, { 'last-event-id': '11' }),
      (frames) => frames.length >= 2 * pieces - 11,
    );
    expect(rest[0]).toMatchObject({ id: '12' });
    expect(await api.json(`/api/v1/chat/jobs/${job}`, 200, { headers: withKey })).toMatchObject({
      status: 'running',
    });
  });

  it('stays while it takes something now and then', async () => {
    const { api, events } = await busyRuntime(slowStallMs);
    const reader = (await stream(api, events)).getReader();
    let taken = 0;
    for (const end = Date.now() + 2 * slowStallMs; Date.now() < end;) {
      taken += (await reader.read()).value?.length ?? 0;
      await new Promise((resolve) => setTimeout(resolve, slowStallMs / 10));
    }
    expect(taken).toBeGreaterThan(0);
    await reader.cancel();
  });

  it('is let go as one of a run, too', async () => {
    const { api, job } = await busyRuntime();
    const id = job.replace(/^(?!run_)/, 'run_');
    const reader = (await stream(api, `/agent/runs/${id}`)).getReader();
    await reader.read();
    await expect(reader.closed).rejects.toMatchObject({ code: 'connection_lost' });
    await until(async () => (await readers(api)) === 0);
  });
});

/** A client that asks for something and takes nothing of the answer. */
async function silentClient(port: number, path: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined).pause();
  closers.push(() => socket.destroy());
  await new Promise((resolve) => socket.once('connect', resolve));
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nX-Millrace-API-Key: ${key}\r\n\r\n`);
  return socket;
}

/** Where an attachment is served that is more than the system holds for both ends of a connection. */
async function serverOf(
  host: 'listen' | 'nodeHandler',
  stallMs: number,
): Promise<{ port: number; path: string }> {
  const api = await serve('fetch', { api: { keys: [{ key }], readerStallMs: stallMs } });
  const body = new FormData();
  body.set('file', new Blob([Buffer.alloc(large, 'a')]), 'a.bin');
  const attachments = '/api/v1/chat/attachments';
  const sent = { method: 'POST', headers: withKey, body };
  const { attachment } = await api.json(attachments, 201, sent);
  const path = attachment.download_url as string;
  if (host === 'listen') return { port: (await api.runtime.listen({ port: 0 })).port, path };
  const server: Server = createServer((request, response) => {
    void api.runtime.nodeHandler(request, response);
  });
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: (server.address() as { port: number }).port, path };
}

/** How many bytes come until the connection is closed, or has had more than this. */
async function rest(socket: Socket, most = Infinity): Promise<number> {
  socket.resume();
  await until(() => socket.destroyed || socket.bytesRead > most);
  return socket.bytesRead;
}

/** Takes about so much, and nothing behind it. */
async function takeMebibyte(socket: Socket): Promise<void> {
  const end = socket.bytesRead + (1 << 20);
  const pauseThere = (): void => {
    if (socket.bytesRead >= end) socket.pause();
  };
  socket.on('data', pauseThere).resume();
  await until(() => socket.destroyed || socket.bytesRead >= end);
  socket.off('data', pauseThere);
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe.each(['listen', 'nodeHandler'] as const)('a client of runtime.%s', (host) => {
  it('loses its connection where it takes nothing', async () => {
    const { port, path } = await serverOf(host, readerStallMs);
    const socket = await silentClient(port, path);
    await pause(4 * readerStallMs);
    expect(await rest(socket)).toBeLessThan(large);
  });

  it('keeps it while it takes a little', async () => {
    const { port, path } = await serverOf(host, slowStallMs);
    const socket = await silentClient(port, path);
    for (let time = 0; time < 15; time += 1) {
      await takeMebibyte(socket);
      await pause(slowStallMs / 10);
    }
    expect(await rest(socket, large)).toBeGreaterThan(large);
  });
});
