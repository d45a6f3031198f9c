// The version of what runs.
import { addon } from './addon';

/** Version of the engine. */
export function version(): string {
  return addon().version;
}
