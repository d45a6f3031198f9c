// The scale of temperatures: LobeHub's, from 0 to 2, stays in its own interfaces; elsewhere a value is sent as given.
import type { ChatStreamPayload } from 'millrace';
import {
  anthropicCompatibleFactory,
  configFromOptions,
  createChatRoute,
  createModelRuntime,
  createRouterRuntime,
} from 'millrace';

import type { Provider } from '../../support/provider';
import { startProvider, stream } from '../../support/provider';
import { sse } from '../support/responses';

const answer = sse(
  { type: 'message_start', message: { id: 'm', role: 'assistant', content: [] } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
  { type: 'message_stop' },
);
const payload: ChatStreamPayload = {
  model: 'claude-sonnet-4-5',
  messages: [{ role: 'user', content: 'Hi' }],
  temperature: 1,
};

let provider: Provider;
beforeEach(async () => {
  provider = await startProvider(stream([answer]));
});
afterEach(() => provider.close());

const settings = () => ({ baseURL: provider.url, apiKey: 'k', maxRetries: 0 });

const calls: [string, number, () => Promise<unknown>][] = [
  [
    'createChatRoute',
    0.5,
    async () => {
      const route = createChatRoute({ config: configFromOptions({ anthropic: settings() }) });
      const body = JSON.stringify(payload);
      await (
        await route(new Request('http://x/webapi/chat/anthropic', { method: 'POST', body }))
      ).text();
    },
  ],
  [
    'anthropicCompatibleFactory',
    0.5,
    () => {
      const Acme = anthropicCompatibleFactory({ provider: 'acme', ...settings() });
      return new Acme({ maxRetries: 0 }).stream(payload).text();
    },
  ],
  [
    'createRouterRuntime',
    0.5,
    () => {
      const Routed = createRouterRuntime({
        id: 'mine',
        routers: [{ apiType: 'anthropic', options: settings() }],
      });
      return new Routed().stream(payload).text();
    },
  ],
  [
    "protocol: 'lobe'",
    0.5,
    async () => {
      const runtime = createModelRuntime('anthropic', settings());
      await (await runtime.chat(payload, { protocol: 'lobe' })).text();
    },
  ],
  [
    "temperatureScale: 'lobe'",
    0.5,
    () =>
      createModelRuntime('anthropic', { ...settings(), temperatureScale: 'lobe' })
        .stream(payload)
        .text(),
  ],
  [
    'createModelRuntime',
    1,
    () => createModelRuntime('anthropic', settings()).stream(payload).text(),
  ],
  [
    "protocol: 'ag-ui'",
    1,
    async () => {
      const runtime = createModelRuntime('anthropic', settings());
      await (await runtime.chat(payload, { protocol: 'ag-ui' })).text();
    },
  ],
];

it.each(calls)('a temperature of 1 by %s is sent as %d', async (_, temperature, call) => {
  await call();
  expect(provider.calls).toHaveLength(1);
  expect(JSON.parse(provider.calls[0]?.body ?? '')).toMatchObject({ temperature });
});
