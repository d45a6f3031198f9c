// What a tool call of an MCP server costs the process that makes it.
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { atLeast } from '../support/goals.mjs';
import { bench, root } from '../support/paths.mjs';

const execute = promisify(execFile);

export const name = 'mcp';
export const title = 'MCP tool calls, CPU of the calling process';
export const columns = [
  { key: 'label', title: 'client' },
  { key: 'transport', title: 'transport' },
  { key: 'alone', title: 'us a call, one at a time', digits: 0 },
  { key: 'together', title: 'us a call, 20 at a time', digits: 0 },
];
export const notes = [
  'official: @modelcontextprotocol/client. The server is another process; best of the rounds.',
];

const clients = ['millrace', 'official'];

// A server that answers at once, in JSON.
function respond(request, response) {
  let body = '';
  request.on('data', (data) => (body += data));
  request.on('end', () => {
    if (request.method !== 'POST') return response.writeHead(405).end();
    const { id, method, params } = JSON.parse(body);
    if (id === undefined) return response.writeHead(202).end();
    const text = String(params.arguments?.text);
    const { protocolVersion } = params;
    const serverInfo = { name: 'bench', version: '1' };
    const result =
      method === 'initialize'
        ? { protocolVersion, capabilities: { tools: {} }, serverInfo }
        : { content: [{ type: 'text', text }] };
    response.writeHead(200, { 'content-type': 'application/json' });
    return response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  });
}

async function measure(who, transport, target, calls) {
  const worker = join(bench, 'workers/mcp.mjs');
  const { stdout } = await execute(
    process.execPath,
    [worker, who, transport, target, String(calls)],
    { timeout: 120_000 },
  );
  return JSON.parse(stdout);
}

export async function run({ quick }) {
  const calls = quick ? 300 : 1000;
  const rounds = quick ? 1 : 3;
  const server = createServer(respond).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const targets = {
    stdio: join(root, 'test/js/fixtures/mcp-server.cjs'),
    http: `http://127.0.0.1:${server.address().port}/mcp`,
  };
  const rows = [];
  try {
    for (const [transport, target] of Object.entries(targets)) {
      for (const label of clients) {
        const samples = [];
        for (let round = 0; round < rounds; round++) {
          samples.push(await measure(label, transport, target, calls));
        }
        const best = (key) => Math.min(...samples.map((sample) => sample[key]));
        rows.push({ label, transport, alone: best('alone'), together: best('together') });
      }
    }
  } finally {
    server.closeAllConnections();
    server.close();
  }
  const ratio = (transport, key) => {
    const [own, other] = rows.filter((row) => row.transport === transport);
    return other[key] / own[key];
  };
  return {
    rows,
    goals: [
      atLeast('stdio, one at a time: times less CPU', ratio('stdio', 'alone'), 3),
      atLeast('HTTP, one at a time: times less CPU', ratio('http', 'alone'), 3),
    ],
  };
}
