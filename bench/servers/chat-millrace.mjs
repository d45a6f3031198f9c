// The Runtime API with an agent of the engine, on a file.
import { join } from 'node:path';

import { serving } from '../support/chat-server.mjs';
import { importMillrace } from '../support/packages.mjs';

const { provider, folder } = JSON.parse(process.argv[2]);
const { createAgent, createRuntime } = await importMillrace();
const runtime = createRuntime({
  storage: `file:${join(folder, 'chat.db')}`,
  maxDetachedRuns: 100_000,
});
createAgent({
  model: 'openai:example',
  provider: { baseURL: provider, apiKey: 'none' },
  runtime,
  name: 'agent',
});
serving((await runtime.listen({ port: 0 })).port);
