// The names that the package exports, entry by entry: a program that uses one must find it in the next version, too.
// `node test/js/fixtures/public-names.mjs > test/golden/public-names.txt` writes the list again.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(__dirname, '../../..');
const script = join(root, 'test/js/fixtures/public-names.mjs');

// Entry -> "value name" and "type name".
function entriesOf(text: string): Map<string, string[]> {
  const blocks = text.trim().split('\n\n');
  return new Map(
    blocks.map((block) => {
      const [entry = '', ...names] = block.split('\n');
      return [entry, names];
    }),
  );
}

describe('the public names', () => {
  const now = entriesOf(execFileSync(process.execPath, [script], { encoding: 'utf8' }));

  it('are those of the list', () => {
    const golden = readFileSync(join(root, 'test/golden/public-names.txt'), 'utf8');
    expect(Object.fromEntries(now)).toEqual(Object.fromEntries(entriesOf(golden)));
  });

  it('are all in the root, and those of the root in a part, but for what every part needs', () => {
    const apart = ['millrace', 'millrace/client', 'millrace/ag-ui', 'millrace/testing'];
    const parts = [...now].filter(([entry]) => !apart.includes(entry));
    const inParts = new Set(parts.flatMap(([, names]) => names));
    const inRoot = new Set(now.get('millrace'));
    expect([...inParts].filter((name) => !inRoot.has(name))).toEqual([]);
    const rest = [...inRoot].filter((name) => !inParts.has(name));
    expect(rest.filter((name) => name.startsWith('value '))).toEqual([
      'value EventType',
      'value MillraceError',
      'value version',
    ]);
  });
});
