// A run as one file: a page that plays it offline, or its records as lines of JSON.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type Zlib from 'node:zlib';

import { MillraceError } from '../errors';
import { createHash } from '../node-crypto';
import { type ExportedRecord, Redaction, type SecretNames } from './redaction';

/** Some records of a run, and whether those are all that it has. */
export interface RecordPage {
  records: ExportedRecord[];
  next: number;
  isComplete: boolean;
}

/** Where a run comes from. */
export interface ExportSource {
  run: { id: string; name: string; kind: string; state: string; threadId?: string | undefined };
  /** What the run was started with, and what the user sent while it worked. */
  messages: object[];
  page(after: number): Promise<RecordPage>;
}

export type ExportFormat = 'html' | 'jsonl';

export interface ExportOptions {
  format: ExportFormat;
  /** Members of arguments whose values are left out. */
  secrets: SecretNames;
  onRecords?: (records: number) => void;
}

/** The file in pieces. */
export async function* exportedRun(
  source: ExportSource,
  options: ExportOptions,
): AsyncGenerator<Buffer, undefined> {
  const { redaction, last } = await redactionOf(source, options.secrets);
  const lines = linesOf(source, { redaction, last, onRecords: options.onRecords });
  if (options.format === 'html') yield* pageOf(source, redaction, lines);
  else for await (const line of lines) yield Buffer.from(line);
  return undefined;
}

async function* pagesOf(source: ExportSource): AsyncGenerator<ExportedRecord[], undefined> {
  for (let after = 0; ;) {
    const page = await source.page(after);
    yield page.records;
    if (page.isComplete) return undefined;
    after = page.next;
  }
}

// A secret may be shown before the call that has it: all are known before the first line.
async function redactionOf(
  source: ExportSource,
  names: SecretNames,
): Promise<{ redaction: Redaction; last: number }> {
  const redaction = new Redaction(names);
  // Earlier turns of the thread called tools as well.
  redaction.learn([{ seq: 0, at: 0, fact: { messages: source.messages } }]);
  let last = 0;
  for await (const records of pagesOf(source)) {
    redaction.learn(records);
    last = records.at(-1)?.seq ?? last;
  }
  redaction.learned();
  return { redaction, last };
}

interface Lines {
  redaction: Redaction;
  /** What a run at work has recorded meanwhile was not looked at. */
  last: number;
  onRecords: ((records: number) => void) | undefined;
}

async function* linesOf(
  source: ExportSource,
  { redaction, last, onRecords }: Lines,
): AsyncGenerator<string, undefined> {
  let count = 0;
  for await (const page of pagesOf(source)) {
    const records = page.filter(({ seq }) => seq <= last);
    const lines = redaction.clean(records).map((record) => `${JSON.stringify(record)}\n`);
    if (lines.length > 0) yield lines.join('');
    count += records.length;
    onRecords?.(count);
  }
  return undefined;
}

async function* pageOf(
  source: ExportSource,
  redaction: Redaction,
  lines: AsyncGenerator<string, undefined>,
): AsyncGenerator<Buffer, undefined> {
  // What else describes a run may have arguments of calls.
  const { id, name, kind, state, threadId } = source.run;
  const run = { id, name, kind, state, threadId };
  const messages = redaction.cleanValue(source.messages);
  const head = { version: 1, exportedAt: Date.now(), run, messages };
  const player = playerFiles();
  yield Buffer.from(beforeRecords(name, inScript(JSON.stringify(head)), player));
  yield* base64Lines(lines);
  yield Buffer.from(`</script>\n<script>${player.script}</script>\n</body>\n</html>\n`);
  return undefined;
}

// A whole number of groups of three bytes, so that each line can be decoded alone.
const lineBytes = 3 << 14;

async function* base64Lines(lines: AsyncIterable<string>): AsyncGenerator<Buffer, undefined> {
  // Loaded here: every runtime has this file, and few export a run.
  const { createGzip } = require('node:zlib') as typeof Zlib;
  const gzip = createGzip({ level: 9 });
  const text = Readable.from(lines);
  text.on('error', (error) => gzip.destroy(error));
  text.pipe(gzip);
  let rest: Buffer = Buffer.alloc(0);
  try {
    for await (const chunk of gzip as AsyncIterable<Buffer>) {
      rest = Buffer.concat([rest, chunk]);
      for (; rest.length >= lineBytes; rest = rest.subarray(lineBytes)) {
        yield Buffer.from(`${rest.toString('base64', 0, lineBytes)}\n`);
      }
    }
    yield Buffer.from(`${rest.toString('base64')}\n`);
  } finally {
    text.destroy();
    gzip.destroy();
  }
  return undefined;
}

// --- the page

interface PlayerFiles {
  script: string;
  style: string;
}

// Built from console/src/player.
function playerFiles(): PlayerFiles {
  const folder = join(__dirname, '../../player');
  const [script, style] = ['player.js', 'style.css'].map((name) => join(folder, name)) as [
    string,
    string,
  ];
  if (!existsSync(script) || !existsSync(style)) {
    throw new MillraceError(
      'invalid_option',
      "This copy of the package has no player (dist/player), for example because a bundler left it out: use the format 'jsonl'.",
    );
  }
  return { script: readFileSync(script, 'utf8'), style: readFileSync(style, 'utf8') };
}

const hashOf = (text: string): string =>
  `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

// JSON that no HTML parser reads as markup.
const inScript = (json: string): string => json.replaceAll('<', '\\u003c');

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
const escaped = (text: string): string =>
  text.replace(/[&<>]/g, (letter) => entities[letter] ?? '');

const controls = `<section id="controls" aria-label="Player"><div>
<button id="play" type="button">Play</button>
<input id="seek" type="range" min="0" step="1" aria-label="Time in the run">
<span id="time"></span>
<label>Speed <select id="speed"><option value="0.25">0.25</option><option value="0.5">0.5</option><option value="1" selected>1</option><option value="2">2</option><option value="5">5</option><option value="20">20</option></select></label>
<button id="skip" type="button">Skip the wait</button>
<span id="seq"></span>
<span id="status"></span>
</div></section>`;

function beforeRecords(name: string, head: string, { script, style }: PlayerFiles): string {
  const policy = [
    "default-src 'none'",
    `script-src ${hashOf(script)}`,
    `style-src ${hashOf(style)}`,
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
  ].join('; ');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(name)}</title>
<style>${style}</style>
</head>
<body>
<header><h1 id="name"></h1><span id="run"></span></header>
${controls}
<main id="blocks"></main>
<script type="application/json" id="head">${head}</script>
<script type="text/plain" id="records">
`;
}
