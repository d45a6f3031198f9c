// A server made with the official TypeScript SDK 2: `node mcp-sdk-server.mjs stdio` or `http <port>`.
// scripts/test-mcp.mjs copies it beside the SDK that it installs.
import { createServer } from 'node:http';

import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

function build() {
  const server = new McpServer({ name: 'sdk-2', version: '1.0.0' });
  server.registerTool(
    'add',
    { description: 'Adds.', inputSchema: z.object({ a: z.number(), b: z.number() }) },
    async ({ a, b }) => ({ content: [{ type: 'text', text: String(a + b) }] }),
  );
  return server;
}

const [, , transport, port] = process.argv;
if (transport === 'stdio') {
  await serveStdio(build);
} else {
  const handler = createMcpHandler(build);
  createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = chunks.length > 0 ? Buffer.concat(chunks) : undefined;
    const { method, headers } = request;
    const url = `http://127.0.0.1:${port}${request.url}`;
    const answer = await handler.fetch(new globalThis.Request(url, { method, headers, body }));
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    for await (const chunk of answer.body ?? []) response.write(chunk);
    response.end();
  }).listen(Number(port), '127.0.0.1', () => console.log('ready'));
}
