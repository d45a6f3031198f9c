// A Node server that answers with pipeAGUI: the engine talks to the provider and makes the AG-UI bytes.
import { importMillrace } from '../support/packages.mjs';
import { serveProxy } from '../support/proxy.mjs';

const { provider } = JSON.parse(process.argv[2]);
const { fetchLLM, openAIAdapter, pipeAGUI } = await importMillrace();
const adapter = openAIAdapter();
const llm = fetchLLM({ url: `${provider}/chat/completions`, streamAdapter: adapter });

serveProxy(async ({ threadId, runId, messages }, res) => {
  const leaving = new AbortController();
  res.on('close', () => leaving.abort());
  const response = await llm.send({ threadId, messages, signal: leaving.signal });
  await pipeAGUI(response, res, { adapter, threadId, runId, signal: leaving.signal });
});
