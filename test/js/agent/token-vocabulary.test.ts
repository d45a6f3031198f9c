// A vocabulary is installed here, as a package of the tests: tokens are counted, not estimated.
import { shouldCompress } from 'millrace';

describe('with a vocabulary of o200k', () => {
  it('counts text exactly, with room for error', () => {
    const messages = [{ role: 'user' as const, content: 'hello world '.repeat(50) }];
    const { currentTokenCount } = shouldCompress(messages);
    expect(currentTokenCount).toBe(101);
    const isDue = (maxWindowToken: number, driftMultiplier?: number) =>
      shouldCompress(messages, { maxWindowToken, ...(driftMultiplier && { driftMultiplier }) })
        .needsCompression;
    expect(isDue(202, 1)).toBe(false);
    expect(isDue(200, 1)).toBe(true);
    // The model may have another vocabulary.
    expect(isDue(202)).toBe(true);
    expect(isDue(254)).toBe(false);
  });

  it('believes what a provider reported of its own answer', () => {
    const metadata = { usage: { totalOutputTokens: 64_001 } };
    expect(shouldCompress([{ role: 'assistant', content: 'short', metadata }])).toMatchObject({
      currentTokenCount: 64_001,
      needsCompression: true,
    });
  });

  it('counts the definitions of tools', () => {
    const tools = [{ type: 'function', function: { name: 't', description: 'word '.repeat(300) } }];
    expect(shouldCompress([], { tools }).currentTokenCount).toBeGreaterThan(300);
  });

  // A vocabulary merges the pairs of a word in the square of its length.
  it.each([
    ['letters', 'x'.repeat(400_000), 50_000],
    ['Chinese', '中文字符测试'.repeat(10_000), 30_000],
    ['signs', '='.repeat(400_000), 6_250],
    ['blanks', ' '.repeat(400_000), 3_125],
  ])('counts a word of any length at once: %s', (_name, content, about) => {
    const began = performance.now();
    const { currentTokenCount } = shouldCompress([{ role: 'user', content }]);
    expect(performance.now() - began).toBeLessThan(5000);
    expect(Math.abs(currentTokenCount - about)).toBeLessThan(about * 0.05);
  });
});
