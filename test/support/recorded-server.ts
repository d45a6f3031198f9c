// `millrace serve --storage` as a child process that tests end with kill -9 and start again.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { bareEnvironment } from './environment';

const cli = join(__dirname, '../../dist/cjs/cli/main.js');

/** A frame of an answer: its number, if it has one, and its event. */
export interface Frame {
  id?: number;
  event: Record<string, unknown> & { type: string };
}

/** The frames of a body; comments are passed over. */
export function framesOf(text: string): Frame[] {
  return text
    .split('\n\n')
    .filter((block) => /^data: /mu.test(block))
    .map((block) => {
      const id = /^id: (\d+)$/mu.exec(block)?.[1];
      const event = JSON.parse(/^data: (.*)$/mu.exec(block)?.[1] ?? '') as Frame['event'];
      return id === undefined ? { event } : { id: Number(id), event };
    });
}

/** Reads a body until its text fits, and leaves. What it got before a cut is given as well. */
export async function readUntil(
  response: Response,
  fits: (text: string) => boolean,
): Promise<string> {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let text = '';
  while (!fits(text)) {
    const piece = await reader.read().catch(() => ({ done: true, value: undefined }));
    if (piece.done) return text;
    text += decoder.decode(piece.value, { stream: true });
  }
  await reader.cancel().catch(() => undefined);
  return text;
}

export class RecordedServer {
  readonly folder = mkdtempSync(join(tmpdir(), 'millrace-runs-'));
  readonly store = join(this.folder, 'store.db');
  url = '';
  /** What it wrote to stderr since the first start. */
  reported = '';
  isQuiet = false;
  #child: ChildProcess | undefined;
  readonly #args: string[];
  readonly #storage: string[];
  readonly #env: Record<string, string>;

  /** Without storage it is a server that records nothing. */
  constructor(args: string[] = [], env: Record<string, string> = {}, isRecorded = true) {
    this.#args = args;
    this.#storage = isRecorded ? ['--storage', `file:${this.store}`] : [];
    this.#env = env;
  }

  async start(): Promise<void> {
    const child = spawn(
      process.execPath,
      [cli, 'serve', '--port', '0', '--json', ...this.#storage, ...this.#args],
      {
        env: { ...bareEnvironment, HOME: this.folder, ...this.#env },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    this.#child = child;
    child.stderr.on('data', (data: Buffer) => {
      this.reported += data.toString();
      if (!this.isQuiet) process.stderr.write(data);
    });
    const line = once(createInterface({ input: child.stdout }), 'line') as Promise<[string]>;
    const failed = once(child, 'exit').then(([code]) => {
      throw new Error(`millrace serve ended with ${String(code)}`);
    });
    const [ready] = await Promise.race([line, failed]);
    failed.catch(() => undefined);
    this.url = `${(JSON.parse(ready) as { url: string }).url}/agent`;
  }

  /** Ends it at once, with this signal, and waits until it is gone. */
  async end(signal: NodeJS.Signals = 'SIGKILL'): Promise<number | null> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined) return null;
    const gone = once(child, 'exit') as Promise<[number | null]>;
    child.kill(signal);
    const [code] = await gone;
    return code;
  }

  async restart(): Promise<void> {
    await this.end();
    await this.start();
  }

  async close(): Promise<void> {
    await this.end();
    rmSync(this.folder, { recursive: true, force: true });
  }

  post(body: object, signal?: AbortSignal): Promise<Response> {
    return fetch(this.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ state: {}, tools: [], context: [], forwardedProps: {}, ...body }),
      signal: signal ?? null,
    });
  }

  get(path: string, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(`${this.url}/runs${path}`, { headers });
  }

  async info(id: string): Promise<Record<string, unknown> & { state: string }> {
    const response = await this.get(`/${id}`, { accept: 'application/json' });
    return (await response.json()) as Record<string, unknown> & { state: string };
  }
}
