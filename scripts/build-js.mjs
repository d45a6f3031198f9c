// Builds dist/ from js/ and types/: dist/cjs (code and declarations), dist/types (copied declarations) and
// dist/esm, a wrapper that re-exports the CommonJS build. There is one copy of the module state, so the
// addon is initialised once per environment whichever way the package is loaded.
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import { run } from './setup/report.mjs';

// Each public entry of package.json's "exports", by the name of its file in js/.
const entries = ['index'];
const inputs = [
  'js',
  'types',
  'tsconfig.json',
  'tsconfig.build.json',
  'package.json',
  'scripts/build-js.mjs',
];

export async function buildJavaScript(root) {
  const dist = join(root, 'dist');
  const stamp = join(dist, '.stamp');
  const wanted = fingerprint(root);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
  rmSync(dist, { recursive: true, force: true });
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  await run('compiling TypeScript', process.execPath, [compiler, '-p', 'tsconfig.build.json'], {
    cwd: root,
  });
  if (existsSync(join(root, 'types')))
    cpSync(join(root, 'types'), join(dist, 'types'), { recursive: true });
  const { default: typescript } = await import('typescript');
  for (const entry of entries) writeWrapper(typescript, root, entry);
  writeFileSync(stamp, wanted);
}

// The names are listed one by one: bundlers and Node then need not guess what the CommonJS file exports.
function writeWrapper(typescript, root, entry) {
  const declaration = join(root, 'dist/cjs', `${entry}.d.ts`);
  const program = typescript.createProgram([declaration], { skipLibCheck: true, noEmit: true });
  const checker = program.getTypeChecker();
  const module = checker.getSymbolAtLocation(program.getSourceFile(declaration));
  const names = checker
    .getExportsOfModule(module)
    .filter((symbol) => {
      const target =
        symbol.flags & typescript.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
      return target.flags & typescript.SymbolFlags.Value;
    })
    .map((symbol) => symbol.name)
    .sort();
  mkdirSync(join(root, 'dist/esm'), { recursive: true });
  const names_list = names.map((name) => `  ${name},\n`).join('');
  writeFileSync(
    join(root, 'dist/esm', `${entry}.mjs`),
    `export {\n${names_list}} from '../cjs/${entry}.js';\n`,
  );
  writeFileSync(join(root, 'dist/esm', `${entry}.d.mts`), `export * from '../cjs/${entry}.js';\n`);
}

function fingerprint(root) {
  const hash = createHash('sha256');
  for (const input of inputs.map((name) => join(root, name)).filter(existsSync))
    addToHash(hash, input);
  return hash.digest('hex');
}

function addToHash(hash, path) {
  hash.update(path);
  let names;
  try {
    names = readdirSync(path).sort();
  } catch {
    hash.update(readFileSync(path));
    return;
  }
  for (const name of names) addToHash(hash, join(path, name));
}
