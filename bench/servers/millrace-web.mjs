// A Node server that answers with toAGUIResponse, copied to the socket the way web frameworks on Node do: one read
// of the web stream, one res.write.
import { importMillrace } from '../support/packages.mjs';
import { serveProxy } from '../support/proxy.mjs';

const { provider } = JSON.parse(process.argv[2]);
const { fetchLLM, openAIAdapter, toAGUIResponse } = await importMillrace();
const adapter = openAIAdapter();
const llm = fetchLLM({ url: `${provider}/chat/completions`, streamAdapter: adapter });

serveProxy(async ({ threadId, runId, messages }, res) => {
  const leaving = new AbortController();
  const { signal } = leaving;
  const source = await llm.send({ threadId, messages, signal });
  const response = toAGUIResponse(source, { adapter, threadId, runId, signal });
  const reader = response.body.getReader();
  res.on('close', () => {
    leaving.abort();
    reader.cancel().catch(() => {});
  });
  res.writeHead(response.status, Object.fromEntries(response.headers));
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return res.end();
    if (!res.write(value)) await new Promise((resolve) => res.once('drain', resolve));
  }
});
