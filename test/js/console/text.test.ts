// Texts of the page: frames of a stream, Markdown, and what people read.
import { costText, durationText, prettyJson, sizeText, visible } from '../../../console/src/format';
import {
  BlockReader,
  type MarkdownBlock,
  type MarkdownNode,
  safeAddress,
} from '../../../console/src/markdown';
import { EventFrames } from '../../../console/src/sse';

describe('frames of a stream', () => {
  const stream =
    'retry: 2000\nid: 1\nevent: meta\ndata: {"a":1}\n\n: keep-alive\n\nid: 1.1\nevent: message_delta\ndata: {"text":"é: x"}\n\n';
  const events = [
    { id: '1', event: 'meta', payload: { a: 1 } },
    { id: '1.1', event: 'message_delta', payload: { text: 'é: x' } },
  ];

  it('are the same wherever they are cut', () => {
    for (let cut = 0; cut <= stream.length; cut += 1) {
      const frames = new EventFrames();
      expect([...frames.feed(stream.slice(0, cut)), ...frames.feed(stream.slice(cut))]).toEqual(
        events,
      );
    }
  });

  it('are given once they are whole', () => {
    expect(new EventFrames().feed('id: 1\nevent: meta\ndata: {"a":1}\n')).toEqual([]);
  });
});

const blocksOf = (text: string): readonly MarkdownBlock[] => new BlockReader().read(text);

describe('Markdown', () => {
  const types = (nodes: readonly MarkdownNode[]): string[] =>
    nodes.flatMap(({ token, children }) => [token.type, ...types(children)]);
  const typesOf = (text: string): string[] => types(blocksOf(text).flatMap(({ nodes }) => nodes));

  it('has no HTML', () => {
    const html = '<script>x</script>\n\na <b onclick="x">b</b> <!-- c -->\n\n<div>d</div>';
    expect(typesOf(html).filter((type) => type.startsWith('html'))).toEqual([]);
  });

  it.each([
    'javascript:x',
    ' JaVaScRiPt:x',
    'data:text/html,x',
    'vbscript:x',
    'file:///x',
    '/x',
    '#x',
  ])('opens no %s', (address) => expect(safeAddress(address)).toBeUndefined());

  it.each(['https://a.example/b?c#d', 'HTTP://a.example', 'mailto:a@b.example'])(
    'opens %s',
    (address) => expect(safeAddress(address)).toBe(address),
  );

  const shown = (nodes: readonly MarkdownNode[]): unknown[] =>
    nodes.map(({ token, children }) => [token.type, token.content, token.info, shown(children)]);
  const all = (blocks: readonly MarkdownBlock[]): unknown =>
    shown(blocks.flatMap(({ nodes }) => nodes));
  const pieces = [
    ...[
      'One *two*\n',
      '\n',
      '- three\n',
      '- four\n',
      '  more\n',
      '1. five\n',
      '> six\n',
      '> - seven\n',
    ],
    ...[
      '```js\n',
      'eight\n',
      '```\n',
      '    nine\n',
      '| a | b |\n',
      '| - | - |\n',
      '| c | d |\n',
      '# ten\n',
    ],
    ...[
      'eleven\n===\n',
      '---\n',
      '***\n',
      'twelve\r\n',
      'https://a.example\n',
      '[a][b]\n',
      '\t',
      '  ',
    ],
  ];

  it.each([
    ['without definitions', pieces],
    ['with definitions', [...pieces, '[b]: https://c.example\n', '> [b]: https://d.example\n']],
  ])('reads a text that grows as it reads the whole: %s', (_name, from) => {
    let seed = 7;
    const next = (): number => (seed = (seed * 48_271) % 2_147_483_647);
    for (let round = 0; round < 100; round += 1) {
      const reader = new BlockReader();
      let text = '';
      for (let count = 0; count < 25; count += 1) {
        text += from[next() % from.length] ?? '';
        const read = JSON.stringify(all(reader.read(text)));
        expect(read).toBe(JSON.stringify(all(blocksOf(text))));
      }
    }
  });

  it.each([
    '1. a\n\n  2. b\n\n   3. c\n',
    '1. one\n2.\n3. three\n',
    '- a\n#b\n\n- c\n```d`\n',
    "[A*b\\]]: my_(url) 'title'\n\n[A*b\\]]\n",
  ])('reads a text that grows by letters as it reads the whole: %j', (text) => {
    const reader = new BlockReader();
    for (let size = 1; size < text.length; size += 1) reader.read(text.slice(0, size));
    expect(all(reader.read(text))).toEqual(all(blocksOf(text)));
  });

  it('parses the blocks before the last one once', () => {
    const reader = new BlockReader();
    const before = reader.read('One\n\n- two\n\nthree');
    const after = reader.read('One\n\n- two\n\nthree and more\n\nfour');
    expect(after).toHaveLength(4);
    expect([after[0], after[1]].map((block, at) => block === before[at])).toEqual([true, true]);
    // Another text begins anew.
    expect(all(reader.read('Five'))).toEqual(all(blocksOf('Five')));
  });

  it('shows blocks anew where a definition comes later', () => {
    const [before] = blocksOf('[a][b]');
    const [after] = blocksOf('[a][b]\n\n[b]: https://c.example');
    expect(after?.key).not.toBe(before?.key);
  });

  it('bears deep nesting', () => {
    expect(() => blocksOf('> '.repeat(5000) + '['.repeat(5000))).not.toThrow();
  });
});

describe('what people read', () => {
  it('writes out characters that are not seen', () => {
    expect(visible('rm \u202e/tmp\u200b\n\t\u0007')).toBe('rm \\u202e/tmp\\u200b\n\t\\u0007');
    expect(visible('Größe – 你好 👍')).toBe('Größe – 你好 👍');
  });

  it.each([
    [durationText(12.4), '12 ms'],
    [durationText(1540), '1.5 s'],
    [durationText(125_000), '2 min 5 s'],
    [sizeText(512), '512 B'],
    [sizeText(1536), '1.5 KB'],
    [costText({ total: 0.25 }), '$0.25'],
    [costText({ total: 0.000123, currency: 'USD' }), '$0.000123'],
    [costText({ total: 1, currency: 'no currency' }), '1 no currency'],
    [prettyJson('{"a":1}'), '{\n  "a": 1\n}'],
    [prettyJson('{"a":'), '{"a":'],
  ])('%s', (text, wanted) => expect(text).toBe(wanted));
});
