// Code blocks of the documentation, and what it takes to run one.
//
// A block in js, ts or bash runs as it stands. A comment on the line before it sets it up:
//   <!-- example: server -->       `millrace serve` runs meanwhile; http://127.0.0.1:8788 becomes its address
//   <!-- example: skip REASON -->  the block is not run
import { type ChildProcess, spawn } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';

import ts from 'typescript';

import { bareEnvironment } from './environment';

export const root = join(__dirname, '../..');
const printedAddress = 'http://127.0.0.1:8788';

export interface Example {
  /** file:line */
  place: string;
  language: 'js' | 'ts' | 'bash';
  setUp: string;
  code: string;
}

export interface Outcome {
  code: number | null;
  output: string;
}

export function documents(): string[] {
  const docs = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' });
  const pages = docs.filter((name) => name.endsWith('.md')).map((name) => join(root, 'docs', name));
  return [join(root, 'README.md'), ...pages];
}

export function examplesOf(file: string): Example[] {
  const text = readFileSync(file, 'utf8');
  const pattern = /(?:<!-- example: (.*?) -->\s*\n)?^```(js|ts|bash)\n([\s\S]*?)^```$/gm;
  return [...text.matchAll(pattern)].map((match) => {
    const line = text.slice(0, match.index).split('\n').length;
    return {
      place: `${relative(root, file)}:${line}`,
      setUp: match[1] ?? '',
      language: match[2] as Example['language'],
      code: match[3] ?? '',
    };
  });
}

/** A folder in which `millrace` resolves to this checkout. */
export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-docs-'));
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(root, join(folder, 'node_modules/millrace'));
  return folder;
}

export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}

export async function runExample(example: Example, folder: string): Promise<Outcome> {
  if (!example.setUp.startsWith('server')) return runCode(example, example.code, folder);
  const server = await startServer(folder);
  try {
    return await runCode(example, example.code.replaceAll(printedAddress, server.address), folder);
  } finally {
    server.child.kill();
  }
}

function runCode(example: Example, code: string, folder: string): Promise<Outcome> {
  // The Node of the tests is the one that scripts find.
  const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env['PATH']}` };
  if (example.language === 'bash') {
    return finished(spawn('bash', ['-euc', code], { cwd: folder, env }));
  }
  const file = join(folder, 'example.mjs');
  const module = ts.ModuleKind.ESNext;
  const options = { compilerOptions: { module, target: ts.ScriptTarget.ES2022 } };
  writeFileSync(file, ts.transpileModule(code, options).outputText);
  return finished(spawn(process.execPath, [file], { cwd: folder }));
}

async function finished(child: ChildProcess): Promise<Outcome> {
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
  }
  const timer = setTimeout(() => child.kill('SIGKILL'), 60_000);
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  clearTimeout(timer);
  return { code, output };
}

/** `millrace serve` on a free port, with the demo model; its runs are recorded. */
async function startServer(folder: string): Promise<{ child: ChildProcess; address: string }> {
  const cli = join(root, 'dist/cjs/cli/main.js');
  // Without any key in its environment, the model is the demo.
  const env = { ...bareEnvironment };
  const args = [cli, 'serve', '--port', '0', '--storage', `file:${join(folder, 'store.db')}`];
  const child = spawn(process.execPath, args, { cwd: root, env });
  let output = '';
  const address = await new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        output += chunk;
        const found = /http:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0];
        if (found) resolve(found);
      });
    }
    child.on('close', () => reject(new Error(`millrace serve ended early:\n${output}`)));
  });
  return { child, address };
}

/** Type errors of the ts blocks, checked strictly against the built declarations. */
export function typeErrors(examples: Example[], folder: string): string[] {
  const names = examples.map((example, index) => {
    const name = join(folder, `example-${index}.mts`);
    writeFileSync(name, example.code);
    return name;
  });
  const program = ts.createProgram(names, {
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    skipLibCheck: true,
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.Node16,
    moduleResolution: ts.ModuleResolutionKind.Node16,
    preserveSymlinks: false,
    types: ['node'],
    typeRoots: [join(root, 'node_modules/@types')],
  });
  return ts.getPreEmitDiagnostics(program).map((diagnostic) => {
    const index = names.indexOf(diagnostic.file?.fileName ?? '');
    const text = ts.flattenDiagnosticMessageText(diagnostic.messageText, '\n');
    return `${examples[index]?.place ?? diagnostic.file?.fileName}: ${text}`;
  });
}
