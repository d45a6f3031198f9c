// The packages under comparison, as their users import them.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

import { root } from './paths.mjs';

// Millrace as this checkout has built it, found by the package's own `main`.
export const millracePath = createRequire(`${root}/package.json`).resolve(root);

export async function importMillrace() {
  return (await import(pathToFileURL(millracePath).href)).default;
}
