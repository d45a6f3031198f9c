// Works with OpenUI's `AgentInterface` in Chromium: the page of docs/openui.md as it stands there, against
// `millrace serve` and against a server of one's own.
//   node scripts/test-openui.mjs [--only WORDS]     only the scenes whose title has these words
// OpenUI's packages are those of test/openui/package.json, fetched here alone; the browser is the machine's Chromium (or
// CHROMIUM names one). Screenshots are left in build/reports. Ends with "N passed, N failed".
import './help.mjs';

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { preparePackages } from './setup/packages.mjs';
import { launchOptions } from './testing/browser.mjs';
import { playOpenUi } from './testing/openui-pages.mjs';
import { startSites } from './testing/openui-servers.mjs';
import { pageFiles, typeErrors } from './testing/openui-site.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const packages = join(root, 'test/openui');
const reports = join(root, 'build/reports');
const { values } = parseArgs({ options: { only: { type: 'string' } } });

function checkTypes() {
  const errors = typeErrors(root, packages);
  for (const error of errors) console.error(`failed: the page compiles strictly\n  ${error}`);
  if (errors.length === 0) console.log('ok   the page compiles strictly');
  return errors.length === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 };
}

async function play(stores) {
  const millrace = await import(join(root, 'dist/esm/index.mjs'));
  const { chromium } = await import(join(packages, 'node_modules/playwright-core/index.mjs'));
  const browser = await chromium.launch(launchOptions());
  const page = await pageFiles(root, packages);
  const start = () =>
    startSites({ root, page, stores: mkdtempSync(join(stores, 'site-')), millrace });
  try {
    return await playOpenUi({ browser, start, reports, only: values.only });
  } finally {
    await browser.close();
  }
}

mkdirSync(reports, { recursive: true });
const stores = mkdtempSync(join(tmpdir(), 'millrace-openui-'));
try {
  await preparePackages(packages);
  const types = checkTypes();
  const played = await play(stores);
  const failed = types.failed + played.failed;
  console.log(`${types.passed + played.passed} passed, ${failed} failed`);
  process.exitCode = failed > 0 || played.passed === 0 ? 1 : 0;
} finally {
  rmSync(stores, { recursive: true, force: true });
}
