// Builds dist/ from js/ and types/: dist/cjs (code and declarations), dist/types (copied declarations) and
// dist/esm, which re-exports the CommonJS build, and dist/client, the modules of `millrace/client` and `millrace/ag-ui` for bundlers. There is one copy of the module state, so the addon is initialised
// once per environment whichever way the package is loaded. An entry lists its names one by one, each with the module
// that has it: require loads a module when one of its exports is first read, and bundlers leave out what is not used.
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
import { basename, dirname, join, posix, relative } from 'node:path';

import { run } from './setup/report.mjs';

// Each public entry of package.json's "exports", by its file in js/.
const entries = [
  'index',
  ...[
    'ag-ui',
    'agent',
    'channels',
    'client',
    'frost',
    'lobe',
    'mcp',
    'model',
    'testing',
    'tools',
    'usage',
  ].map((name) => `entry/${name}`),
];
// Those run in pages, where no timers of Node are.
const pageEntries = ['entry/ag-ui', 'entry/client'];
const inputs = [
  'js',
  'types',
  'tsconfig.json',
  'tsconfig.build.json',
  'package.json',
  'package-lock.json',
  'scripts/build-js.mjs',
];

// Modules that have a package in them, so that ours depends on none.
const bundled = [['tool/yaml', 'yaml']];

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
  for (const [module, packageName] of bundled) await putIn(root, module, packageName);
  const { default: typescript } = await import('typescript');
  for (const entry of entries) writeEntry(typescript, root, entry);
  writeClient(typescript, root);
  await bundleParser(root);
  writeFileSync(stamp, wanted);
}

async function putIn(root, module, packageName) {
  const { build } = await import('esbuild');
  const file = join(root, 'dist/cjs', `${module}.js`);
  const license = readFileSync(join(root, 'node_modules', packageName, 'LICENSE'), 'utf8').trim();
  await build({
    ...{ absWorkingDir: root, entryPoints: [file], outfile: file, allowOverwrite: true },
    ...{ bundle: true, platform: 'node', format: 'cjs', target: 'node20', minify: true },
    banner: { js: `/* With ${packageName}:\n\n${license}\n*/` },
  });
}

function writeEntry(typescript, root, entry) {
  const modules = exportsByModule(typescript, join(root, 'dist/cjs'), entry);
  const timers = `./${posix.relative(posix.dirname(entry), 'real-timers')}`;
  const first = pageEntries.includes(entry) ? '' : `require('${timers}.js');\n`;
  writeFileSync(join(root, 'dist/cjs', `${entry}.js`), commonjsEntry(modules, first));
  const esm = join(root, 'dist/esm');
  const up = relative(join(esm, dirname(entry)), join(root, 'dist/cjs'));
  mkdirSync(join(esm, dirname(entry)), { recursive: true });
  writeFileSync(join(esm, `${entry}.mjs`), esmEntry(modules, `${up}/${dirname(entry)}`));
  const own = modules.flatMap(([module, names]) => ownTypes(root, entry, module, names));
  writeFileSync(
    join(esm, `${entry}.d.mts`),
    [`export * from '${up}/${entry}.js';\n`, ...own].join(''),
  );
}

// A class that extends one of another package has types for ES modules of its own: that package declares its classes
// once for each kind, and one is no other to TypeScript.
function ownTypes(root, entry, module, names) {
  const path = posix.join(posix.dirname(entry), module);
  const types = readFileSync(join(root, 'dist/cjs', `${path}.d.ts`), 'utf8');
  if (![...besideClient].some((name) => types.includes(`from '${name}'`))) return [];
  const target = join(root, 'dist/esm', `${path}.d.mts`);
  mkdirSync(dirname(target), { recursive: true });
  const folder = posix.relative(posix.dirname(`esm/${path}`), posix.dirname(`cjs/${path}`));
  writeFileSync(
    target,
    types.replace(/from '(\.[^']*)'/g, (_, name) => `from '${posix.join(folder, name)}.js'`),
  );
  return [`export { ${names.join(', ')} } from '${module}.mjs';\n`];
}

// Module, relative to the entry's folder -> the values that the entry re-exports from it.
function exportsByModule(typescript, root, entry) {
  const folder = join(root, dirname(entry));
  const declaration = join(folder, `${basename(entry)}.d.ts`);
  const program = typescript.createProgram([declaration], { skipLibCheck: true, noEmit: true });
  const checker = program.getTypeChecker();
  const modules = new Map();
  for (const symbol of checker.getExportsOfModule(
    checker.getSymbolAtLocation(program.getSourceFile(declaration)),
  )) {
    const isAlias = symbol.flags & typescript.SymbolFlags.Alias;
    const target = isAlias ? checker.getAliasedSymbol(symbol) : symbol;
    if (!(target.flags & typescript.SymbolFlags.Value)) continue;
    const { fileName } = target.declarations[0].getSourceFile();
    if (fileName === declaration || target.name !== symbol.name) {
      throw new Error(`js/${entry}.ts must re-export ${symbol.name} from another file, as it is.`);
    }
    const path = relative(folder, fileName).replace(/\.d\.ts$/, '');
    const module = path.startsWith('.') ? path : `./${path}`;
    modules.set(module, [...(modules.get(module) ?? []), symbol.name]);
  }
  for (const names of modules.values()) names.sort();
  return [...modules].sort(([a], [b]) => (a < b ? -1 : 1));
}

// A value that was read once is a plain property. The last line is never run: Node and bundlers read the names there.
// `first` is run when the entry is loaded.
function commonjsEntry(modules, first) {
  const rows = modules.map(
    ([module, names]) => `load(() => require('${module}.js'), ${JSON.stringify(names)});\n`,
  );
  const all = modules.flatMap(([, names]) => names).sort();
  return `'use strict';
Object.defineProperty(exports, '__esModule', { value: true });
${first}function load(module, names) {
  for (const name of names) {
    const get = () => {
      const value = module()[name];
      Object.defineProperty(exports, name, { value, enumerable: true, configurable: true, writable: true });
      return value;
    };
    Object.defineProperty(exports, name, { get, enumerable: true, configurable: true });
  }
}
${rows.join('')}0 && (module.exports = { ${all.join(', ')} });
`;
}

function esmEntry(modules, folder) {
  return modules
    .map(([module, names]) => {
      const from = posix.join(folder, module);
      return `export { ${names.join(', ')} } from '${from}.js';\n`;
    })
    .join('');
}

// A bundler for pages or edge functions that meets `millrace` itself must say what to do instead: it reports the name of
// a module that it does not find.
const notInPages = `// For bundlers: millrace itself runs in Node.js alone.
import 'millrace runs in Node.js alone: import millrace/client in pages and edge functions';
`;

// What a page brings along itself.
const besideClient = new Set(['@ag-ui/client']);

// Modules that pages have in another form.
const inPages = { 'error-types': 'client/error-types', shown: 'client/shown' };

// What pages load: ES modules of their own, since bundlers leave out less of CommonJS.
function writeClient(typescript, root) {
  mkdirSync(join(root, 'dist/client'), { recursive: true });
  writeFileSync(join(root, 'dist/client/not-in-pages.mjs'), notInPages);
  const modules = new Set(['entry/client', 'entry/ag-ui']);
  // A set goes on with what is added to it.
  for (const module of modules) {
    const source = readFileSync(join(root, 'js', `${module}.ts`), 'utf8');
    const rename = (specifier) => {
      if (besideClient.has(specifier)) return specifier;
      const next = moduleInPages(module, specifier);
      modules.add(next);
      const path = posix.relative(posix.dirname(module), `${next}.mjs`);
      return path.startsWith('.') ? path : `./${path}`;
    };
    const { outputText } = typescript.transpileModule(source, {
      compilerOptions: { target: 'ES2022', module: 'ESNext', verbatimModuleSyntax: true },
      transformers: { after: [withSpecifiers(typescript, rename)] },
    });
    const target = join(root, 'dist/client', `${module}.mjs`);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, outputText);
  }
}

function moduleInPages(module, specifier) {
  const next = posix.join(posix.dirname(module), specifier);
  if (!specifier.startsWith('.') || next === 'addon')
    throw new Error(`js/${module}.ts is part of millrace/client and imports '${specifier}'.`);
  return inPages[next] ?? next;
}

// The names of imported modules by `rename`.
function withSpecifiers(typescript, rename) {
  const { factory } = typescript;
  return (context) => {
    const visit = (node) => {
      const isImport = typescript.isImportDeclaration(node);
      if (!node.moduleSpecifier) return node;
      const specifier = factory.createStringLiteral(rename(node.moduleSpecifier.text), true);
      const { modifiers } = node;
      return isImport
        ? factory.updateImportDeclaration(node, modifiers, node.importClause, specifier)
        : factory.updateExportDeclaration(
            ...[node, modifiers, node.isTypeOnly, node.exportClause, specifier],
          );
    };
    return (file) => typescript.visitEachChild(file, visit, context);
  };
}

// The parser of TOML, as one file: the package has no dependency at run time. Its licence comes along.
async function bundleParser(root) {
  const { build } = await import('esbuild');
  const licence = readFileSync(join(root, 'node_modules/toml-eslint-parser/LICENSE'), 'utf8');
  await build({
    stdin: {
      contents: "export { parseTOML, ParseError } from 'toml-eslint-parser';",
      resolveDir: root,
    },
    outfile: join(root, 'dist/cjs/cli/toml-parser.js'),
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    legalComments: 'none',
    banner: { js: `/* toml-eslint-parser\n\n${licence.trim()}\n*/` },
  });
}

function fingerprint(root) {
  const hash = createHash('sha256');
  for (const input of inputs.map((name) => join(root, name)).filter(existsSync))
    addToHash(hash, input);
  return hash.digest('hex');
}

export function addToHash(hash, path) {
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
