// The public surface of the package.
import { addon } from './addon';

/** Version of the engine. */
export function version(): string {
  return addon().version;
}
