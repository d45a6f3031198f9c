// A secret from standard input: what a program sends, or what the user types without seeing it.
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';

import { UsageError } from './command';

const mostBytes = 64 * 1024;

async function piped(): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin) {
    chunks.push(chunk as Buffer);
    bytes += (chunk as Buffer).length;
    if (bytes > mostBytes) throw new UsageError('Standard input has more than 64 KiB.');
  }
  return Buffer.concat(chunks).toString('utf8');
}

function typed(question: string): Promise<string> {
  process.stderr.write(question);
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: silent, terminal: true });
  return new Promise((resolve, reject) => {
    lines.on('SIGINT', () => lines.close());
    lines.on('close', () => reject(new UsageError('Nothing was given.')));
    lines.question('', (answer) => {
      resolve(answer);
      lines.close();
      process.stderr.write('\n');
    });
  });
}

/** Reads a secret, without the end of its line. */
export async function hiddenInput(question: string): Promise<string> {
  const text = await (process.stdin.isTTY ? typed(`${question}: `) : piped());
  const secret = text.replace(/\r?\n$/, '');
  if (secret === '') throw new UsageError('Standard input has nothing.');
  return secret;
}
