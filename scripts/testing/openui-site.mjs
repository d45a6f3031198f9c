// The page of docs/openui.md, bundled as it stands there, and a server of its files.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';

import { build } from 'esbuild';
import ts from 'typescript';

// What the document's own values become: those in the query of the page's address.
const settings = [
  ["'http://127.0.0.1:8788'", "new URLSearchParams(location.search).get('server') ?? ''"],
  ['= {}; // {', "= JSON.parse(new URLSearchParams(location.search).get('headers') ?? '{}'); // {"],
];

const html = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>OpenUI</title><link rel="icon" href="data:,">
<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="page.css">
<style>body { margin: 0 }</style><div id="root"></div><script type="module" src="page.js"></script></html>`;

function pageOf(root) {
  const text = readFileSync(join(root, 'docs/openui.md'), 'utf8');
  return [...text.matchAll(/^```tsx\n([\s\S]*?)^```$/gm)].map(([, code]) => code).join('\n');
}

/** The type errors of the page, beside the types of OpenUI's packages in `folder`. */
export function typeErrors(root, folder) {
  const file = join(folder, 'page.tsx');
  const options = {
    ...{ strict: true, noEmit: true, skipLibCheck: true, types: [], jsx: ts.JsxEmit.ReactJSX },
    ...{ module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler },
    ...{ target: ts.ScriptTarget.ES2022, noUncheckedSideEffectImports: false },
  };
  const host = ts.createCompilerHost(options);
  const read = host.getSourceFile.bind(host);
  const source = ts.createSourceFile(file, pageOf(root), ts.ScriptTarget.ES2022);
  host.getSourceFile = (name, language) => (name === file ? source : read(name, language));
  const found = ts.getPreEmitDiagnostics(ts.createProgram([file], options, host));
  return found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}

async function bundled(root, folder) {
  let contents = pageOf(root);
  for (const [written, wanted] of settings) {
    if (!contents.includes(written)) throw new Error(`docs/openui.md has no ${written}`);
    contents = contents.replace(written, () => wanted);
  }
  const { outputFiles } = await build({
    stdin: { contents, loader: 'tsx', resolveDir: folder },
    bundle: true,
    write: false,
    outdir: folder,
    format: 'esm',
    jsx: 'automatic',
    define: { 'process.env.NODE_ENV': '"production"' },
    logLevel: 'warning',
  });
  const find = (end) => outputFiles.find(({ path }) => path.endsWith(end)).contents;
  return new Map([
    ['/', ['text/html', html]],
    ['/page.js', ['text/javascript', find('.js')]],
    ['/page.css', ['text/css', find('.css')]],
  ]);
}

/** The files of the page, with OpenUI's packages from `folder`: a function for `node:http` that is true where it answered. */
export async function pageFiles(root, folder) {
  const files = await bundled(root, folder);
  return (request, response) => {
    const found = files.get(new URL(request.url, 'http://localhost').pathname);
    if (found === undefined) return false;
    response.setHeader('content-type', `${found[0]}; charset=utf-8`);
    response.end(found[1]);
    return true;
  };
}

/** Listens on a free port of this machine; { url, close }. */
export async function listen(answer) {
  const server = createServer(answer);
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    close: () => (server.closeAllConnections(), server.close()),
  };
}
