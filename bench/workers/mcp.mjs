// Calls a tool of an MCP server again and again in a fresh process; prints the CPU time of one call.
//   node mcp.mjs millrace|official stdio|http <program or address> <calls>
import { createRequire } from 'node:module';

import { millracePath } from '../support/packages.mjs';

const [, , who, transport, target, count] = process.argv;
const calls = Number(count);

const connect = {
  async millrace() {
    const { createMCPClient } = createRequire(import.meta.url)(millracePath);
    const program = { command: process.execPath, args: [target] };
    const client = await createMCPClient(transport === 'stdio' ? program : { url: target });
    return {
      call: (name, args) => client.callTool(name, args),
      close: () => client.close(),
    };
  },
  async official() {
    const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
    const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio');
    const client = new Client({ name: 'bench', version: '1' });
    await client.connect(
      transport === 'stdio'
        ? new StdioClientTransport({ command: process.execPath, args: [target] })
        : new StreamableHTTPClientTransport(new URL(target)),
    );
    return {
      call: (name, args) => client.callTool({ name, arguments: args }),
      close: () => client.close(),
    };
  },
};

const { call, close } = await connect[who]();
const echo = async (i) => {
  const text = `text ${i}`;
  const { content } = await call('echo', { text });
  if (content[0].text !== text) throw new Error(`the answer of call ${i} is wrong`);
};

// Microseconds of CPU in this process for a call, `together` of them at a time.
async function measure(together) {
  const before = process.cpuUsage();
  for (let i = 0; i < calls; i += together) {
    await Promise.all(Array.from({ length: together }, (_, k) => echo(i + k)));
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / calls;
}

for (let i = 0; i < 200; i++) await echo(i);
const alone = await measure(1);
const together = await measure(20);
await close();
process.stdout.write(`${JSON.stringify({ alone, together })}\n`);
process.exit(0);
