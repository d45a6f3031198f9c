// `millrace convert` from outside: the real process, files and standard input.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { contentOf, readEvents } from '../../support/events';
import { reference } from '../../support/reference';
import {
  framed,
  haveRecordings,
  randomPieces,
  recordings,
  records,
} from '../../support/recordings';
import { testSeed } from '../support/seed';

const cli = join(__dirname, '../../../dist/cjs/cli/main.js');
const folder = mkdtempSync(join(tmpdir(), 'millrace-convert-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

interface Outcome {
  code: number;
  out: string;
  err: string;
}

function convert(
  args: string[],
  input: Iterable<Uint8Array> = [],
  env: NodeJS.ProcessEnv = process.env,
): Promise<Outcome> {
  const child = spawn(process.execPath, [cli, 'convert', ...args], { env });
  const outcome: Outcome = { code: -1, out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (outcome.out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (outcome.err += text));
  child.stdin.on('error', () => undefined);
  for (const piece of input) child.stdin.write(piece);
  child.stdin.end();
  return new Promise((resolve) => {
    child.on('close', (code) => {
      resolve({ ...outcome, code: code ?? -1 });
    });
  });
}

const chat = [
  'data: {"choices":[{"delta":{"role":"assistant","content":"Grüß"}}]}\n\n',
  'data: {"choices":[{"delta":{"content":" dich"}}]}\n\n',
  'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
].join('');

describe('millrace convert', () => {
  it('lets no answer command a terminal, and keeps the bytes for a pipe', async () => {
    const received = 'a\u001b]0;title\u0007b\u009b2J\tc\u202ed\n';
    const body = `data: ${JSON.stringify({ choices: [{ delta: { content: received }, finish_reason: 'stop' }] })}\n\n`;
    const tty = 'process.stdout.isTTY=process.stderr.isTTY=true';
    const env = { ...process.env, NODE_OPTIONS: `--import=data:text/javascript,${tty}` };
    const args = ['--from', 'openai-chat', '--to', 'text'];
    const shown = await convert(args, [Buffer.from(body)], env);
    expect([shown.code, shown.out]).toEqual([0, 'a]0;titleb2J\tcd\n']);
    const piped = await convert(args, [Buffer.from(body)]);
    expect([piped.code, piped.out]).toEqual([0, received]);
    const failed = `data: ${JSON.stringify({ error: { message: received, code: received } })}\n\n`;
    const { code, err } = await convert(args, [Buffer.from(failed)]);
    expect(code).toBe(1);
    for (const bad of ['\u0007', '\u009b', '\u202e', '\u001b']) expect(err).not.toContain(bad);
  });

  it('writes an AG-UI run', async () => {
    const { code, out } = await convert(['--from', 'openai-chat'], [Buffer.from(chat)]);
    expect(code).toBe(0);
    expect(readEvents(out).map((event) => event.type)).toEqual([
      'RUN_STARTED',
      'TEXT_MESSAGE_START',
      'TEXT_MESSAGE_CONTENT',
      'TEXT_MESSAGE_CONTENT',
      'TEXT_MESSAGE_END',
      'RUN_FINISHED',
    ]);
  });

  it('writes text and messages, reads a file, and takes the wire in either spelling', async () => {
    const file = join(folder, 'chat.sse');
    writeFileSync(file, chat);
    expect(await convert(['--from', 'openai_chat', '--to', 'text', file])).toEqual({
      code: 0,
      out: 'Grüß dich\n',
      err: '',
    });
    const { out } = await convert(['--from', 'openai-chat', '--to', 'messages', file]);
    expect(JSON.parse(out)).toMatchObject([{ role: 'assistant', content: 'Grüß dich' }]);
  });

  it('reads its own output', async () => {
    const { out } = await convert(['--from', 'openai-chat'], [Buffer.from(chat)]);
    const again = await convert(['--from', 'ag-ui', '--to', 'text', '-'], [Buffer.from(out)]);
    expect(again).toEqual({ code: 0, out: 'Grüß dich\n', err: '' });
  });

  it('keeps the lines behind one that is broken', async () => {
    const lines = chat.replaceAll('data: ', '').replaceAll('\n\n', '\n').replace('[DONE]\n', '');
    const broken = `{"choices":[{"delta":{"role":"assistant"}}]\n${lines}`;
    const { out, code } = await convert(['--from', 'openai-chat'], [Buffer.from(broken)]);
    expect(code).toBe(0);
    expect(readEvents(out)).toContainEqual(
      expect.objectContaining({ type: 'CUSTOM', name: 'millrace.warning' }),
    );
    expect(contentOf(readEvents(out)).text).toBe('Grüß dich');
  });

  it('frames bare lines on request', async () => {
    const lines = chat.replaceAll('data: ', '').replaceAll('\n\n', '\n').replace('[DONE]\n', '');
    const { out } = await convert(
      ['--from', 'openai-chat', '--lines', '--to', 'text'],
      [Buffer.from(lines)],
    );
    expect(out).toBe('Grüß dich\n');
  });

  it.each([
    ['a cut stream', chat.slice(0, 80), 'stream_truncated'],
    ['an empty input', '', 'stream_empty'],
    ['another wire', '<html></html>', 'not_a_stream'],
  ])('ends with code 1 and a RUN_ERROR on %s', async (_what, input, expected) => {
    const { code, out, err } = await convert(['--from', 'openai-chat'], [Buffer.from(input)]);
    expect(code).toBe(1);
    expect(readEvents(out).at(-1)).toMatchObject({ type: 'RUN_ERROR', code: expected });
    expect(err).toContain(expected);
  });

  it.each([
    [['--to', 'text'], '--from is missing'],
    [['--from', 'morse'], "--from cannot be 'morse'"],
    [['--from', 'ag-ui', '--to', 'x'], '--to cannot be'],
    [['--form', 'ag-ui'], '--form'],
    [['--from', 'ag-ui', 'a', 'b'], 'one file'],
    [['--from', 'ag-ui', folder], 'is a folder'],
    [['--from', 'ag-ui', join(folder, 'nothing')], 'There is no such file'],
  ])('refuses %j with code 2', async (args, message) => {
    const { code, err } = await convert(args);
    expect(code).toBe(2);
    expect(err).toContain(message);
  });
});

const all = recordings();
const described = haveRecordings ? describe : describe.skip;
described(
  'millrace convert on recorded streams (skipped when the recordings are not beside the repository)',
  () => {
    it.each(all.filter(({ wire }) => wire !== undefined).map((row) => [row.name, row] as const))(
      '%s',
      async (_name, recording) => {
        const bytes = framed(recording);
        const seed = testSeed();
        const wire = recording.wire ?? '';
        const expected = reference(wire, records(recording.lines));
        const { out, code } = await convert(['--from', wire], randomPieces(bytes, seed));
        const list = readEvents(out);
        const actual = contentOf(list);
        // An id that the provider leaves out is made by the engine.
        expected.calls.forEach((call, at) => (call.id ||= actual.calls[at]?.id ?? ''));
        const calls = actual.calls.filter((call) =>
          expected.calls.some(({ id }) => id === call.id),
        );
        expect({ seed, ...actual, calls }).toEqual({ seed, ...expected });
        expect(list.at(-1)?.type).toBe(code === 0 ? 'RUN_FINISHED' : 'RUN_ERROR');
      },
    );

    it('has an adapter for every recording', () => {
      expect(all.filter(({ wire }) => wire === undefined).map(({ name }) => name)).toEqual([]);
    });
  },
);
