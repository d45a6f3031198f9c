// Where things are.
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');
export const bench = `${root}/bench`;
// Files that one run makes and the next replaces.
export const scratch = `${root}/build/bench-data`;
