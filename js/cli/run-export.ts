// millrace runs export: one run as one file.
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import { MillraceError } from '../errors';
import {
  exportedRun,
  type ExportFormat,
  type ExportOptions,
  type ExportSource,
  type RecordPage,
} from '../runs/export-page';
import { secretNames } from '../runs/redaction';
import { messageOf } from '../thrown';
import { plain, readArgs, runOf, UsageError } from './command';
import type { RunInfo } from './run-text';
import { reporting, storeCommand, storeOf, storeOptions, withProgress } from './store';

const options = {
  ...storeOptions,
  output: { type: 'string' },
  format: { type: 'string' },
  secret: { type: 'string', multiple: true },
} as const;

const formats: readonly string[] = ['html', 'jsonl'] satisfies ExportFormat[];

interface Exported {
  path: string;
  bytes: number;
  records: number;
}

/** The exit code; undefined where help is wanted. */
export async function exportRun(args: readonly string[]): Promise<number | undefined> {
  const { values, positionals } = readArgs(args, options, true);
  if (values.help === true) return undefined;
  return reporting(values.json === true, async () => {
    const id = runOf(positionals);
    const { format = 'html', output, secret = [] } = values;
    if (!isFormat(format)) {
      throw new UsageError(`--format must be html or jsonl, not '${format}'.`);
    }
    const source = await sourceOf(storeOf(values), id);
    const path = output ?? `${source.run.id}.${format}`;
    const result = await withProgress('exporting', (onRecords) =>
      write(path, source, { format, secrets: secretNames(secret), onRecords }),
    );
    if (path === '-') return 0;
    const text = `${result.records} records are in ${plain(path)}.\n`;
    process.stdout.write(values.json === true ? `${JSON.stringify(result)}\n` : text);
    return 0;
  });
}

const isFormat = (text: string): text is ExportFormat => formats.includes(text);

async function sourceOf(store: Record<string, unknown>, id: string): Promise<ExportSource> {
  const run = await storeCommand<RunInfo>('run', { ...store, id });
  const { messages } = await storeCommand<{ messages: object[] }>('messages', { ...store, id });
  const page = (after: number) => storeCommand<RecordPage>('records', { ...store, id, after });
  return { run, messages, page };
}

// Half an export is none.
async function write(path: string, source: ExportSource, given: ExportOptions): Promise<Exported> {
  const done: Exported = { path, bytes: 0, records: 0 };
  const onRecords = (records: number): void => {
    done.records = records;
    given.onRecords?.(records);
  };
  const pieces = exportedRun(source, { ...given, onRecords });
  if (path === '-') {
    await pipeline(Readable.from(pieces), process.stdout, { end: false });
    return done;
  }
  const file = await opened(path);
  try {
    for await (const piece of pieces) {
      await file.write(piece);
      done.bytes += piece.length;
    }
    await file.sync();
    await file.close();
    return done;
  } catch (error) {
    await file.close().catch(() => undefined);
    await unlink(path).catch(() => undefined);
    throw error;
  }
}

// For its user alone: it has what users and models wrote.
async function opened(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'wx', 0o600);
  } catch (error) {
    const isThere = (error as { code?: unknown }).code === 'EEXIST';
    const why = isThere ? 'it exists already' : messageOf(error);
    throw new MillraceError('invalid_option', `The file ${path} cannot be made: ${why}.`, {
      cause: error,
    });
  }
}
