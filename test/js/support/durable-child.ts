// Processes with a runtime that a test starts, reads and kills.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/* eslint-disable @typescript-eslint/no-explicit-any */

/** One line that a process printed. */
export type Line = Record<string, any>;

export interface Child {
  readonly lines: Line[];
  readonly process: ChildProcess;
  /** The first line that the test is right for, printed already or later. */
  until(test: (line: Line) => boolean): Promise<Line>;
  kill(): Promise<void>;
  /** All lines, when it has ended by itself. */
  ended(): Promise<Line[]>;
}

const children: Child[] = [];
const folders: string[] = [];

/** Starts a process of a fixture. */
export function startChild(options: object, name = 'durable-child'): Child {
  const fixture = join(__dirname, `../fixtures/${name}.cjs`);
  const started = spawn(process.execPath, [fixture, JSON.stringify(options)], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const lines: Line[] = [];
  let errors = '';
  const wakes = new Set<() => void>();
  const wake = (): void => [...wakes].forEach((one) => one());
  started.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  createInterface({ input: started.stdout }).on('line', (text) => {
    lines.push(JSON.parse(text) as Line);
    wake();
  });
  let isOver = false;
  const over = new Promise<void>((resolve) => {
    started.on('close', () => {
      isOver = true;
      wake();
      resolve();
    });
  });
  const child: Child = {
    lines,
    process: started,
    until: (test) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const found = lines.find(test);
          if (!found && !isOver) return;
          wakes.delete(look);
          if (found) resolve(found);
          else reject(new Error(`it ended:\n${JSON.stringify(lines, null, 1)}\n${errors}`));
        };
        wakes.add(look);
        look();
      }),
    kill: async () => {
      started.kill('SIGKILL');
      await over;
    },
    ended: async () => {
      await over;
      const failed = lines.find((line) => line['failed'] !== undefined);
      if (failed || started.exitCode !== 0) {
        throw new Error(`exit code ${started.exitCode}\n${String(failed?.['failed'])}\n${errors}`);
      }
      return lines;
    },
  };
  children.push(child);
  return child;
}

/** A folder of a test, which goes with it. */
export function makeStore(): { store: string; log: string; logged: () => string[] } {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-durable-'));
  folders.push(folder);
  const log = join(folder, 'tools.log');
  const logged = (): string[] => {
    try {
      return readFileSync(log, 'utf8').split('\n').filter(Boolean);
    } catch {
      return [];
    }
  };
  return { store: join(folder, 'runs.db'), log, logged };
}

/** Ends what a test left. */
export async function cleanUp(): Promise<void> {
  await Promise.all(children.splice(0).map((child) => child.kill()));
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
}

/** The records among the lines. */
export const recordsIn = (lines: Line[]): Line[] => lines.filter((line) => 'seq' in line);

/** The text that readers have, after what was reset. */
export function textIn(lines: Line[]): string {
  let text = '';
  for (const { event } of recordsIn(lines)) {
    if (event.type === 'TEXT_MESSAGE_CONTENT') text += event.delta as string;
    if (event.type === 'CUSTOM' && event.name === 'millrace.reset') text = '';
  }
  return text;
}
