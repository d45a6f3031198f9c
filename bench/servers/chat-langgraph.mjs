// LangGraph's own server, which keeps threads and checkpoints in memory and writes them to its folder now and then.
import { createServer } from 'node:net';

import { startServer } from '@langchain/langgraph-api/server';

import { serving } from '../support/chat-server.mjs';
import { bench } from '../support/paths.mjs';

const { provider, folder, atOnce } = JSON.parse(process.argv[2]);
process.env.MILLRACE_BENCH_PROVIDER = provider;

// It names its port only after it has chosen one, so one is chosen for it.
const port = await new Promise((resolve) => {
  const probe = createServer().listen(0, '127.0.0.1', () => {
    const { port } = probe.address();
    probe.close(() => resolve(port));
  });
});
await startServer({
  port,
  // As many as there are runs at once: each looks for work about every half a second.
  nWorkers: atOnce,
  host: '127.0.0.1',
  cwd: folder,
  graphs: { agent: `${bench}/servers/langgraph-graph.mjs:graph` },
});
serving(port);
