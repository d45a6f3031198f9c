// Builds the page at `/` from console/ into dist/console: `index.html`, and files below `console/` whose names have a
// hash of their content. The engine serves the folder (lib/api/console_routes.cpp). The script and the style of exported
// runs go into dist/player (js/runs/export-page.ts).
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { addToHash } from './build-js.mjs';
import { SetupError } from './setup/report.mjs';

const inputs = ['console', 'package-lock.json', 'scripts/build-console.mjs'];

export async function buildConsole(root) {
  const folder = join(root, 'dist/console');
  const stamp = join(root, 'dist/.console-stamp');
  const hash = createHash('sha256');
  for (const input of inputs) addToHash(hash, join(root, input));
  const wanted = hash.digest('hex');
  const isThere = [join(folder, 'index.html'), join(player(root), 'player.js'), stamp].every(
    existsSync,
  );
  if (isThere && readFileSync(stamp, 'utf8') === wanted) return;
  const started = performance.now();
  const { build } = await import('vite');
  try {
    await build(settings(root, folder));
    await buildPlayer(root);
  } catch (error) {
    throw new SetupError(`The page in console/ could not be built: ${error.message}`);
  }
  writeFileSync(stamp, wanted);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  process.stderr.write(`millrace: building the page: done in ${seconds} s\n`);
}

const player = (root) => join(root, 'dist/player');

// One script and one style without imports. Both are ASCII, whose hash no encoding changes.
async function buildPlayer(root) {
  const { build } = await import('esbuild');
  const source = join(root, 'console/src/player');
  await build({
    entryPoints: { player: join(source, 'main.ts'), style: join(source, 'player.css') },
    outdir: player(root),
    bundle: true,
    minify: true,
    format: 'iife',
    target: 'es2022',
    charset: 'ascii',
    legalComments: 'none',
    logLevel: 'warning',
  });
}

// The licences of the packages that the page consists of, which ask to be with each copy: `licenses.txt`.
const licenses = {
  name: 'millrace-licenses',
  generateBundle(_options, bundle) {
    const modules = Object.values(bundle).flatMap((file) => Object.keys(file.modules ?? {}));
    const folders = modules.flatMap(
      (id) => /^\0?(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(id)?.[1] ?? [],
    );
    const texts = [...new Set(folders)].sort().map(licenseOf);
    this.emitFile({ type: 'asset', fileName: 'licenses.txt', source: texts.join('\n\n') });
  },
};

function licenseOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
  if (file === undefined) throw new SetupError(`${name} has no file with its licence.`);
  const text = readFileSync(join(folder, file), 'utf8').trim();
  return `${name} ${version} (${license})\n\n${text}\n`;
}

function settings(root, folder) {
  return {
    root: join(root, 'console'),
    configFile: false,
    logLevel: 'warn',
    // Wherever the routes are mounted, the files are beside them.
    base: './',
    plugins: [licenses],
    esbuild: { jsx: 'automatic', legalComments: 'none' },
    build: {
      outDir: folder,
      emptyOutDir: true,
      assetsDir: 'console',
      // The page's policy lets no `data:` address be loaded.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      target: 'es2022',
      reportCompressedSize: false,
    },
  };
}
