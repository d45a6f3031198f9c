// The agent that resumes is an HttpAgent to TypeScript, however a program loads its modules.
import { join } from 'node:path';

import ts from 'typescript';

const text = `
import { AbstractAgent, HttpAgent } from '@ag-ui/client';
import { ResumableHttpAgent } from 'millrace/ag-ui';
const agent = new ResumableHttpAgent({ url: 'http://127.0.0.1' });
export const known: [HttpAgent, AbstractAgent] = [agent, agent];
`;

it.each([
  ['an ES module', 'use.mts', ts.ModuleKind.NodeNext, ts.ModuleResolutionKind.NodeNext],
  ['a CommonJS module', 'use.cts', ts.ModuleKind.NodeNext, ts.ModuleResolutionKind.NodeNext],
  ['a module of a bundler', 'use.ts', ts.ModuleKind.ESNext, ts.ModuleResolutionKind.Bundler],
])('is one in %s', (_, name, module, moduleResolution) => {
  // Within the package, whose own name leads to its exports.
  const file = join(__dirname, name);
  const options = { strict: true, skipLibCheck: true, noEmit: true, module, moduleResolution };
  const host = ts.createCompilerHost(options);
  const given = { ...host };
  host.fileExists = (path) => path === file || given.fileExists(path);
  host.readFile = (path) => (path === file ? text : given.readFile(path));
  host.getSourceFile = (path, version) =>
    path === file ? ts.createSourceFile(path, text, version) : given.getSourceFile(path, version);
  const found = ts.getPreEmitDiagnostics(ts.createProgram([file], options, host));
  expect(found.map(({ messageText }) => messageText)).toEqual([]);
});
