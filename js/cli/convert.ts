// millrace convert: a recorded provider stream in, AG-UI events, messages or text out.
import { once } from 'node:events';
import { accessSync, constants, createReadStream, statSync } from 'node:fs';
import { Readable } from 'node:stream';

import type { AGUIEvent } from '../../types/events';
import { EngineEventReader } from '../adapters/engine-events';
import { addon } from '../addon';
import type { Output as Piece } from '../transport/source';
import { openSource } from '../transport/source';
import type { Command } from './command';
import { plain, readArgs, shownError, UsageError } from './command';

const wires = [
  'openai-chat',
  'openai-chat-ndjson',
  'openai-responses',
  'langgraph',
  'ag-ui',
  'anthropic',
  'bedrock-converse',
  'cohere',
  'gemini',
  'gemini-interactions',
  'mistral',
  'ollama',
] as const;

// Wires whose records are lines as they are.
const lineWires = new Set(['openai_chat_ndjson', 'ollama', 'bedrock_converse']);
const targets = ['ag-ui', 'messages', 'text'] as const;
type Target = (typeof targets)[number];

const help = `Usage: millrace convert --from <wire> [--to <target>] [--lines] [file|-]

Converts a recorded stream; without a file, or with -, it reads standard input.

Options:
  --from <wire>   ${wires.join(', ')}
  --to <target>   ag-ui (server-sent events, the default), messages (a JSON array) or text
  --lines         the input has one JSON record per line instead of server-sent events
  --help          print this

Exit code: 0 when the stream was complete, 1 when it ended in an error (printed in the output and on
stderr), 2 for wrong arguments.
`;

const options = {
  from: { type: 'string' },
  to: { type: 'string' },
  lines: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

type RunError = Extract<AGUIEvent, { type: 'RUN_ERROR' }>;

/** Takes what the engine made of the stream, piece by piece. */
interface Output {
  /** Text to write now. */
  take(piece: Piece): Piece;
  /** Text to write at the end. */
  finish(): string;
  readonly error: RunError | undefined;
}

/** The bytes of an AG-UI run; only the last event is looked at. */
class AGUIOutput implements Output {
  private tail = '';

  take(piece: Piece): Piece {
    this.tail = (this.tail + piece.toString()).slice(-65536);
    return piece;
  }

  finish(): string {
    return '';
  }

  get error(): RunError | undefined {
    const last = this.tail.slice(this.tail.lastIndexOf('data: ') + 'data: '.length);
    return last.startsWith('{"type":"RUN_ERROR"') ? (JSON.parse(last) as RunError) : undefined;
  }
}

/** The answer's text, or its messages. */
class EventsOutput implements Output {
  error: RunError | undefined;
  private readonly reader = new EngineEventReader({ extended: true, logSkipped: false });
  private readonly events: AGUIEvent[] = [];
  private last = '';

  constructor(private readonly target: Exclude<Target, 'ag-ui'>) {}

  take(piece: Piece): Piece {
    let text = '';
    this.reader.load(piece);
    for (let event = this.reader.next(); event !== undefined; event = this.reader.next()) {
      if (event.type === 'RUN_ERROR') this.error = event;
      if (this.target === 'messages') this.events.push(event);
      else if (event.type === 'TEXT_MESSAGE_CONTENT') text += event.delta;
    }
    this.last = text === '' ? this.last : text;
    return text;
  }

  finish(): string {
    if (this.target === 'text') return this.last.endsWith('\n') ? '' : '\n';
    const folder = new (addon().Folder)();
    folder.feed(JSON.stringify(this.events));
    return `${JSON.stringify(JSON.parse(folder.messages()), null, 2)}\n`;
  }
}

/** Frames bare JSON lines as server-sent events. */
async function* framed(input: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  let carry = '';
  const decoder = new TextDecoder();
  for await (const chunk of input) {
    const lines = (carry + decoder.decode(chunk, { stream: true })).split('\n');
    carry = lines.pop() ?? '';
    const records = lines.filter((line) => line.trim() !== '').map((line) => `data: ${line}\n\n`);
    if (records.length > 0) yield Buffer.from(records.join(''));
  }
  carry += decoder.decode();
  if (carry.trim() !== '') yield Buffer.from(`data: ${carry}\n\n`);
}

/** Shows how far a long input is, on a terminal only. */
class Progress {
  private readonly shown = process.stderr.isTTY && !process.stdout.isTTY;
  private done = 0;
  private last = 0;

  constructor(private readonly total: number | undefined) {}

  add(bytes: number): void {
    this.done += bytes;
    const now = Date.now();
    if (!this.shown || now - this.last < 200) return;
    this.last = now;
    const of = this.total === undefined ? '' : ` of ${(this.total / 1e6).toFixed(1)}`;
    process.stderr.write(`\r${(this.done / 1e6).toFixed(1)}${of} MB`);
  }

  end(): void {
    if (this.shown && this.last > 0) process.stderr.write('\r\u001b[K');
  }
}

function choice<T extends string>(
  name: string,
  value: string | undefined,
  allowed: readonly T[],
): T {
  const normal = value?.replaceAll('_', '-');
  const found = allowed.find((entry) => entry === normal);
  if (found === undefined) {
    const problem = value === undefined ? 'is missing' : `cannot be '${value}'`;
    throw new UsageError(`--${name} ${problem}. Use one of ${allowed.join(', ')}.`);
  }
  return found;
}

function sizeOf(file: string): number {
  try {
    accessSync(file, constants.R_OK);
    const found = statSync(file);
    if (!found.isDirectory()) return found.size;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'There is no such file' : 'It cannot be read';
    throw new UsageError(`${why}: ${file} (${code ?? String(error)}).`);
  }
  throw new UsageError(`${file} is a folder; convert takes one file.`);
}

async function* counted(
  input: AsyncIterable<Uint8Array>,
  progress: Progress,
): AsyncIterable<Uint8Array> {
  for await (const chunk of input) {
    progress.add(chunk.byteLength);
    yield chunk;
  }
}

/** Writes to standard output and waits where the reader is slower. What a model said must not steer a terminal. */
async function write(piece: Piece): Promise<void> {
  const shown = typeof piece === 'string' && process.stdout.isTTY ? plain(piece) : piece;
  if (shown.length > 0 && !process.stdout.write(shown)) await once(process.stdout, 'drain');
}

/** The `convert` command. */
export const convert: Command = {
  summary: 'convert a recorded provider stream to AG-UI, messages or text',
  async run(args) {
    const { values, positionals } = readArgs(args, options, true);
    if (values.help === true) {
      process.stdout.write(help);
      return 0;
    }
    const wire = choice('from', values.from, wires).replaceAll('-', '_');
    const target = choice('to', values.to ?? 'ag-ui', targets);
    if (positionals.length > 1) throw new UsageError('convert takes one file.');
    const file = positionals[0] ?? '-';
    const total = file === '-' ? undefined : sizeOf(file);
    const input: AsyncIterable<Uint8Array> = file === '-' ? process.stdin : createReadStream(file);
    const progress = new Progress(total);
    const bytes = counted(
      values.lines === true && !lineWires.has(wire) ? framed(input) : input,
      progress,
    );
    const body = Readable.toWeb(Readable.from(bytes)) as ReadableStream<Uint8Array>;
    const run = { threadId: 'convert', runId: 'convert', protocolVersion: '1.0' };
    const source = openSource(
      new Response(body),
      target === 'ag-ui'
        ? { kind: 'ag_ui', options: { wire, ...run } }
        : { kind: 'events', options: { wire, strict: true } },
    );
    const output: Output = target === 'ag-ui' ? new AGUIOutput() : new EventsOutput(target);
    for (let piece = await source.read(); piece !== undefined; piece = await source.read()) {
      await write(output.take(piece));
    }
    progress.end();
    await write(output.finish());
    if (output.error === undefined) return 0;
    process.stderr.write(`millrace: ${shownError(output.error.message, output.error.code)}`);
    return 1;
  },
};
