// Has Spectral judge /openapi.json of a runtime by all rules of its ruleset `spectral:oas`.
//   node scripts/test-openapi.mjs
// Spectral is that of test/openapi/package.json, fetched here alone. Ends with "N passed, N failed".
import './help.mjs';

import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { preparePackages } from './setup/packages.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const packages = join(root, 'test/openapi');

async function openApiDocument() {
  const { createRuntime } = await import(join(root, 'dist/esm/index.mjs'));
  const runtime = createRuntime({ storage: 'memory' });
  try {
    return await (await runtime.fetch(new Request('http://localhost/openapi.json'))).text();
  } finally {
    await runtime.close();
  }
}

// { code, path, message } of all that Spectral finds.
async function findings(text) {
  const load = createRequire(join(packages, 'package.json'));
  const { Document, Spectral } = load('@stoplight/spectral-core');
  const { Json } = load('@stoplight/spectral-parsers');
  const { oas } = load('@stoplight/spectral-rulesets');
  const spectral = new Spectral();
  // The document is that of any server of this kind, which has no address of its own to write to.
  spectral.setRuleset({ extends: [[oas, 'all']], rules: { 'contact-properties': 'off' } });
  return spectral.run(new Document(text, Json, 'openapi.json'));
}

await preparePackages(packages);
const text = await openApiDocument();
const found = await findings(text);
for (const { code, path, message } of found) {
  console.log(`failed: ${code} at ${path.join('/')}: ${message}`);
}
// It sees a fault where there is one.
const faulty = JSON.parse(text);
delete faulty.info.contact;
const seen = (await findings(JSON.stringify(faulty))).map(({ code }) => code);
if (seen.join() !== 'info-contact') console.log(`failed: a faulty document: ${seen.join()}`);
const failed = [found.length > 0, seen.join() !== 'info-contact'].filter(Boolean).length;
console.log(`${2 - failed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
