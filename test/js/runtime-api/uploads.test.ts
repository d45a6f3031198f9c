// Runs alone: it measures memory.
// Uploads that go to the disk while they come in: slow ones by the thousand, cut ones, and too many.
import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { type Api, cleanUp, type HostName, type Json, key, serve } from './kit';
import { until } from '../support/server';

const boundary = 'the-boundary';
const head = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\n\r\n`;
const tail = `\r\n--${boundary}--\r\n`;
const sockets: Socket[] = [];
const folders: string[] = [];

afterEach(async () => {
  for (const one of sockets.splice(0)) one.destroy();
  await cleanUp();
  for (const one of folders.splice(0)) rmSync(one, { recursive: true, force: true });
});

async function serveInFolder(host: HostName = 'listen'): Promise<{ api: Api; dir: string }> {
  const dir = mkdtempSync(join(tmpdir(), 'millrace-uploads-'));
  folders.push(dir);
  const api = await serve(host, { storage: `file:${join(dir, 'store.db')}` });
  // Opens the store.
  await api.json('/api/v1/chat/history', 200);
  return { api, dir };
}

/** An upload whose head is sent. */
function begin({ url }: Api, size: number): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  sockets.push(socket);
  socket.on('error', () => undefined);
  const length = head.length + size + tail.length;
  socket.write(
    `POST /api/v1/chat/attachments HTTP/1.1\r\nHost: ${hostname}:${port}\r\n` +
      `Content-Type: multipart/form-data; boundary=${boundary}\r\nContent-Length: ${length}\r\n\r\n${head}`,
  );
  return socket;
}

const answerOf = (socket: Socket): Promise<string> =>
  new Promise((resolve) => {
    let text = '';
    socket.on('data', (bytes) => {
      text += String(bytes);
      if (/\r\n\r\n\{.*\}$/s.test(text)) resolve(text);
    });
  });

const isLinux = existsSync('/proc/self/fd');

/** Files without a name that this process has open in the folder. */
function unnamedIn(dir: string): number {
  return readdirSync('/proc/self/fd').filter((number) => {
    try {
      const target = readlinkSync(`/proc/self/fd/${number}`);
      return target.startsWith(dir) && target.endsWith('(deleted)');
    } catch {
      return false;
    }
  }).length;
}

const residentBytes = (): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) * 1024;

(isLinux ? it : it.skip)(
  'a thousand slow uploads hold little memory',
  async () => {
    const { api, dir } = await serveInFolder();
    const piece = Buffer.alloc(100_000, 7);
    const before = residentBytes();
    const slow = Array.from({ length: 1000 }, () => begin(api, 300_000));
    for (const socket of slow) socket.write(piece);
    await until(() => unnamedIn(dir) === 1000, 'all of them are on the disk');
    for (const socket of slow) socket.write(piece);
    const { port } = new URL(api.url);
    expect(Number(port)).toBeGreaterThan(0);
    // 200 MB have come; the sockets of this process are among what is measured.
    expect(residentBytes() - before).toBeLessThan(80 * 1024 * 1024);
    // Others are served meanwhile.
    await api.json('/api/v1/chat/history', 200);
    const [first] = slow as [Socket];
    const answer = answerOf(first);
    first.write(piece);
    first.write(tail);
    expect(await answer).toMatch(/^HTTP\/1\.1 201 .*"size":300000/s);
    for (const socket of slow) socket.destroy();
    await until(() => unnamedIn(dir) === 0, 'nothing is left of those that were cut');
    const names = readdirSync(dir).filter((name) => !name.startsWith('store.db'));
    expect(names).toEqual([]);
  },
  60_000,
);

(isLinux ? it : it.skip)(
  'more uploads than there may be get 503, until others end',
  async () => {
    const { api, dir } = await serveInFolder();
    const slow = Array.from({ length: 1024 }, () => begin(api, 100_000));
    for (const socket of slow) socket.write(Buffer.alloc(50_000));
    await until(() => unnamedIn(dir) === 1024, 'all of them are on the disk');
    const rejected = await answerOf(begin(api, 10));
    expect(rejected).toMatch(/^HTTP\/1\.1 503 .*"code":"too_much_work"/s);
    for (const socket of slow.slice(0, 10)) socket.destroy();
    await until(() => unnamedIn(dir) === 1014, 'some are gone');
    const socket = begin(api, 10);
    const answer = answerOf(socket);
    socket.write(`0123456789${tail}`);
    expect(await answer).toMatch(/^HTTP\/1\.1 201 /);
  },
  60_000,
);

it('a large upload comes back as it was sent', async () => {
  const { api } = await serveInFolder();
  const bytes = Buffer.alloc(20_000_000);
  for (let at = 0; at < bytes.length; at += 4) bytes.writeUInt32LE((at * 2654435761) >>> 0, at);
  const form = new FormData();
  form.append('other', 'not the file');
  form.append('file', new Blob([bytes]), 'large.bin');
  const call = { method: 'POST', body: form };
  const { attachment } = await api.json('/api/v1/chat/attachments', 201, call);
  expect(attachment.size).toBe(bytes.length);
  const got = await api.send(attachment.download_url as string);
  expect(Buffer.from(await got.arrayBuffer()).equals(bytes)).toBe(true);
});

describe('an upload to runtime.fetch', () => {
  const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` };

  /** A body that a test gives piece by piece. */
  function pieces(): {
    body: ReadableStream<Uint8Array>;
    push: (text: string | Buffer) => void;
    end: (error?: Error) => void;
  } {
    let controller!: ReadableStreamDefaultController<Uint8Array>;
    const body = new ReadableStream<Uint8Array>({ start: (made) => void (controller = made) });
    return {
      body,
      push: (bytes) => controller.enqueue(Buffer.from(bytes)),
      end: (error) => (error ? controller.error(error) : controller.close()),
    };
  }

  const request = ({ url }: Api, body: ReadableStream<Uint8Array>): Request =>
    new Request(`${url}/api/v1/chat/attachments`, {
      ...{ method: 'POST', headers: { ...headers, 'X-Millrace-API-Key': key }, body },
      duplex: 'half',
    });

  (isLinux ? it : it.skip)('goes to the disk while it comes', async () => {
    const { api, dir } = await serveInFolder('fetch');
    const { body, push, end } = pieces();
    const answered = api.runtime.fetch(request(api, body));
    push(head);
    push(Buffer.alloc(200_000, 7));
    await until(() => unnamedIn(dir) === 1, 'the first bytes are on the disk');
    push(Buffer.alloc(100_000, 8));
    push(tail);
    end();
    const answer = await answered;
    expect(answer.status).toBe(201);
    const { attachment } = (await answer.json()) as { attachment: Json };
    expect(attachment.size).toBe(300_000);
    const stored = await api.send(attachment.download_url as string);
    const bytes = Buffer.from(await stored.arrayBuffer());
    expect([bytes.length, bytes[0], bytes[299_999]]).toEqual([300_000, 7, 8]);
    await until(() => unnamedIn(dir) === 0, 'the file is in the store');
  });

  (isLinux ? it : it.skip)('leaves nothing where it is cut', async () => {
    const { api, dir } = await serveInFolder('fetch');
    const { body, push, end } = pieces();
    const answered = api.runtime.fetch(request(api, body));
    push(head);
    push(Buffer.alloc(200_000, 7));
    await until(() => unnamedIn(dir) === 1, 'the first bytes are on the disk');
    end(new Error('the client left'));
    await expect(answered).resolves.toMatchObject({ status: 400 });
    await until(() => unnamedIn(dir) === 0, 'the file is gone');
  });

  it('is rejected where it is no form, has no key, or has too many bytes', async () => {
    const { api } = await serveInFolder('fetch');
    const { body, push, end } = pieces();
    push('no form');
    end();
    const plain = request(api, body);
    plain.headers.set('content-type', 'text/plain');
    expect((await api.runtime.fetch(plain)).status).toBe(400);
    const unknown = request(api, pieces().body);
    unknown.headers.delete('X-Millrace-API-Key');
    expect((await api.runtime.fetch(unknown)).status).toBe(401);
    const small = await serve('fetch', { api: { attachmentBytes: 1000, keys: [{ key }] } });
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(Buffer.alloc(100_000)),
    });
    expect((await small.runtime.fetch(request(small, endless))).status).toBe(413);
  });
});
