// Where the built page of console/ is in this package.
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Undefined where the page was not built, and in bundles that leave it out. */
export function pageFolder(): string | undefined {
  const folder = join(__dirname, '../console');
  return existsSync(join(folder, 'index.html')) ? folder : undefined;
}
