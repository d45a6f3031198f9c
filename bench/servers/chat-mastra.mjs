// Mastra's server with an agent and its memory, on libSQL; the disk has each commit before it counts, as with the others.
import { join } from 'node:path';

import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { serve } from '@hono/node-server';
import { Agent } from '@mastra/core/agent';
import { Mastra } from '@mastra/core';
import { MastraServer } from '@mastra/hono';
import { Memory } from '@mastra/memory';
import { Hono } from 'hono';

import { fullySyncedStore } from '../support/mastra-store.mjs';
import { serving } from '../support/chat-server.mjs';

const { provider, folder } = JSON.parse(process.argv[2]);
const storage = await fullySyncedStore(join(folder, 'mastra.db'));
const model = createOpenAICompatible({ name: 'example', baseURL: provider, apiKey: 'none' });
const agent = new Agent({
  id: 'agent',
  name: 'agent',
  instructions: 'Answer.',
  model: model('example'),
  memory: new Memory({ storage, options: { lastMessages: 20 } }),
});
const mastra = new Mastra({ agents: { agent }, storage, logger: false });
const app = new Hono();
await new MastraServer({ app, mastra }).init();
serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => serving(port));
