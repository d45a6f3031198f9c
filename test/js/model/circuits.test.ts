// Providers that keep failing are left alone for a while.
import { MillraceError, createModelRuntime, providerCircuits } from 'millrace';

import type { Provider } from '../../support/provider';
import { startProvider, stream } from '../../support/provider';
import { sse } from '../support/responses';

const answer = sse({ choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: 'stop' }] });
const payload = { model: 'm', messages: [{ role: 'user' as const, content: 'Hi' }] };
let down = true;
let provider: Provider;
beforeEach(async () => {
  down = true;
  const good = stream([answer]);
  provider = await startProvider((response, request) => {
    if (down) response.writeHead(503).end('{}');
    else void good(response, request);
  });
});
afterEach(() => provider.close());

const runtimeWith = (circuit: object | false, apiKey = 'k') =>
  createModelRuntime('openai', {
    apiKey,
    baseURL: provider.url,
    maxRetries: 0,
    transport: 'engine',
    circuit: circuit as { failures?: number },
  });
async function codeOf(run: Promise<unknown>): Promise<string> {
  try {
    await run;
    return 'ok';
  } catch (error) {
    return MillraceError.is(error) ? error.code : String(error);
  }
}
const request = (runtime = runtimeWith({ failures: 3, pauseMs: 200 })) =>
  codeOf(runtime.stream(payload).text());
const own = () => providerCircuits().filter(({ origin }) => origin === provider.url);

describe('circuit', () => {
  it('opens, is seen, and closes after a probe', async () => {
    for (let i = 0; i < 3; i += 1) expect(await request()).toBe('provider_overloaded');
    expect(await request()).toBe('circuit_open');
    expect(provider.calls).toHaveLength(3);
    expect(own()).toMatchObject([
      { provider: 'openai', state: 'open', failures: 3, lastError: 'provider_overloaded' },
    ]);
    expect(JSON.stringify(own())).not.toContain('"k"');
    // Another key is not affected.
    expect(await request(runtimeWith({ failures: 3 }, 'other'))).toBe('provider_overloaded');
    await new Promise((resolve) => setTimeout(resolve, 250));
    down = false;
    expect(await request()).toBe('ok');
    expect(own().filter(({ state }) => state !== 'closed')).toEqual([]);
  });

  it('is skipped by calls with a fallback, and can be switched off', async () => {
    for (let i = 0; i < 3; i += 1) await request();
    const other = await startProvider(stream([answer]));
    try {
      const runtime = createModelRuntime('openai', {
        apiKey: 'k',
        baseURL: provider.url,
        transport: 'engine',
        circuit: { failures: 3 },
        fallback: [{ provider: 'groq', model: 'b', apiKey: 'g', baseURL: other.url }],
      });
      const run = runtime.stream(payload);
      expect(await run.text()).toBe('Hi');
      expect((await run.attempts).map((attempt) => attempt.provider)).toEqual(['groq']);
    } finally {
      await other.close();
    }
    const before = provider.calls.length;
    expect(await request(runtimeWith(false))).toBe('provider_overloaded');
    expect(provider.calls).toHaveLength(before + 1);
  });
});
