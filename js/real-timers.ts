// Timers of Node itself. What the package needs for its own order of work does not wait for the clock of a test that replaces
// timers after the package was loaded.
import { setImmediate } from 'node:timers';

const ofNode = setImmediate;

/** Calls a function when Node has handled the events that are there. */
export function defer(next: () => void): void {
  ofNode(next);
}

/** Resolves when Node has handled the events that are there. */
export function nextTurn(): Promise<void> {
  return new Promise(defer);
}
