// A vocabulary is installed here, as a package of the tests: tokens are counted, not estimated.
import { shouldCompress } from 'millrace';

describe('with a vocabulary of o200k', () => {
  it('counts text exactly, without room for error', () => {
    const messages = [{ role: 'user' as const, content: 'hello world '.repeat(50) }];
    const { currentTokenCount } = shouldCompress(messages);
    expect(currentTokenCount).toBe(101);
    const limit = { maxWindowToken: 202 };
    expect(shouldCompress(messages, limit).needsCompression).toBe(false);
    expect(shouldCompress(messages, { maxWindowToken: 200 }).needsCompression).toBe(true);
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
});
