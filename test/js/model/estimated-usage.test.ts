// A client that is shown what a run used is told where that is an estimate.
import { createAgent, createModelRuntime } from 'millrace';

import { startProvider, stream, type Provider } from '../../support/provider';

const chunk = (choice: object, more: object = {}) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, ...choice }], ...more })}\n\n`;
const answer = chunk({ delta: { content: 'hi' } }) + chunk({ delta: {}, finish_reason: 'stop' });
const usage = { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 };
const counted = `${answer}data: ${JSON.stringify({ choices: [], usage })}\n\n`;

const estimated = { millrace: { usageSource: 'estimated' } };

describe('usage of the last event', () => {
  let provider: Provider;
  beforeAll(async () => void (provider = await startProvider()));
  afterAll(() => provider.close());

  const settings = () => ({ baseURL: `${provider.url}/v1`, apiKey: 'k', maxRetries: 0 });

  async function lastOf(body: string, of: 'runtime' | 'agent'): Promise<Record<string, unknown>> {
    provider.answer = stream([body, 'data: [DONE]\n\n']);
    const run =
      of === 'agent'
        ? createAgent({ model: 'openai:x', provider: settings() }).run('q')
        : createModelRuntime('openai', settings()).stream({
            model: 'x',
            messages: [{ role: 'user', content: 'q' }],
          });
    let last: object = {};
    for await (const event of run) last = event;
    return last as Record<string, unknown>;
  }

  it.each(['runtime', 'agent'] as const)('is marked where a %s estimated it', async (of) => {
    const silent = await lastOf(answer, of);
    expect(silent).toMatchObject({ type: 'RUN_FINISHED', metadata: estimated });
    expect(silent.usage).toHaveLength(1);
    const reported = await lastOf(counted, of);
    expect(reported).toMatchObject({ type: 'RUN_FINISHED', usage: [{ totalTokens: 4 }] });
    expect(reported).not.toHaveProperty('metadata');
  });

  it('is marked in an error as well', async () => {
    const failed = await lastOf('', 'runtime');
    expect(failed.type).toBe('RUN_ERROR');
    if ('usage' in failed) expect(failed.metadata).toMatchObject(estimated);
  });
});
