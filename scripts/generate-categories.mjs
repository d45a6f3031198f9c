// Writes lib/schema/unicode_categories.inc: the general category of every code point, as this Node
// knows it. Run again for another version of Unicode.
//   node scripts/generate-categories.mjs
import './help.mjs';

import { writeFileSync } from 'node:fs';
import process from 'node:process';

const categories = [
  ...['Lu', 'Ll', 'Lt', 'Lm', 'Lo', 'Mn', 'Mc', 'Me', 'Nd', 'Nl', 'No', 'Pc', 'Pd', 'Ps', 'Pe'],
  ...['Pi', 'Pf', 'Po', 'Sm', 'Sc', 'Sk', 'So', 'Zs', 'Zl', 'Zp', 'Cc', 'Cf', 'Cs', 'Co'],
];
const tests = categories.map((name) => [name, new RegExp(`^\\p{${name}}$`, 'u')]);

function categoryOf(point) {
  const text = String.fromCodePoint(point);
  return tests.find(([, test]) => test.test(text))?.[0];
}

const rows = [];
for (let point = 0; point <= 0x10ffff; ++point) {
  const category = categoryOf(point);
  const last = rows.at(-1);
  if (last && last.category === category && last.last === point - 1) last.last = point;
  else if (category !== undefined) rows.push({ first: point, last: point, category });
}

const hex = (point) => `0x${point.toString(16).toUpperCase()}`;
const lines = rows.map(
  ({ first, last, category }) => `{${hex(first)},${hex(last)},C::${category}},`,
);
const text = [
  '// clang-format off',
  `// Unicode ${process.versions.unicode}, General_Category; what is not listed is Cn. Written by scripts/generate-categories.mjs.`,
];
for (let at = 0; at < lines.length; at += 4) text.push(lines.slice(at, at + 4).join(''));
writeFileSync(
  new URL('../lib/schema/unicode_categories.inc', import.meta.url),
  `${text.join('\n')}\n`,
);
