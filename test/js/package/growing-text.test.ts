// Text that grows piece by piece is the sum of its pieces, to the last code unit.
import { GrowingText } from '../../../dist/cjs/growing-text';

const pieces = [
  '',
  'a',
  'f\u00fcr',
  '\u{1f600}',
  '\ud83d',
  '\ude00',
  '\0',
  'long '.repeat(40),
  '\u4f60',
];

it('gives what was added, whatever the pieces are', () => {
  const text = new GrowingText('begin');
  let sum = 'begin';
  for (let round = 0; round < 200; round += 1) {
    const piece = pieces[(round * 7) % pieces.length] ?? '';
    text.add(piece);
    sum += piece;
    if (round % 3 === 0) expect(text.text).toBe(sum);
    expect(text).toHaveLength(sum.length);
  }
  expect(text.text).toBe(sum);
  expect(text.from(100)).toBe(sum.slice(100));
  expect(text.from(sum.length)).toBe('');
});

it('is as long as it gets', () => {
  const text = new GrowingText();
  let sum = '';
  for (const piece of [
    'x',
    '\ud83d',
    'long '.repeat(30_000),
    '\u4f60',
    '\ude00',
    'z'.repeat(70_000),
  ]) {
    for (let round = 0; round < 3; round += 1) {
      text.add(piece);
      sum += piece;
      text.add('y'.repeat(20_000));
      sum += 'y'.repeat(20_000);
    }
  }
  expect(text).toHaveLength(sum.length);
  expect(text.text === sum).toBe(true);
  for (let start = 0; start <= sum.length; start += 4_099) {
    expect(text.from(start) === sum.slice(start)).toBe(true);
  }
  expect(text.from(sum.length)).toBe('');
});

it('is empty at first', () => {
  expect(new GrowingText().text).toBe('');
});
