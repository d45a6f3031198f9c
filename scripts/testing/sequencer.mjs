// The order in which Jest begins test files: those with a line "// Begins first: ..." before the others. Jest itself begins
// with what took longest the last time; in a fresh clone it knows nothing, and the end waits for a long file that
// began late.
import { readFileSync } from 'node:fs';

import base from '@jest/test-sequencer';

const isFirst = ({ path }) => /^\/\/ Begins first: /m.test(readFileSync(path, 'utf8'));

/** The tests, those that begin first in front, otherwise in the order that they have. */
export function inOrder(tests) {
  const first = tests.filter(isFirst);
  return [...first, ...tests.filter((test) => !first.includes(test))];
}

export default class Sequencer extends base.default {
  sort(tests) {
    return inOrder(super.sort(tests));
  }
}
