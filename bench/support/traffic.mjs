// The two native traffic programs (native/mock_provider.cpp, native/stream_load.cpp) and how to talk to them.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { madeFiles } from './data.mjs';
import { root } from './paths.mjs';

// They end when their standard input does, so also when this process dies.
function startProgram(name, args) {
  const program = join(root, 'build/release/bench/native', name);
  const child = spawn(program, args.map(String), { stdio: ['pipe', 'pipe', 'inherit'] });
  const waiting = [];
  const lines = createInterface({ input: child.stdout });
  lines.on('line', (line) => waiting.shift()?.resolve(JSON.parse(line)));
  const ended = new Promise((resolve) => child.on('close', resolve));
  ended.then((code) => {
    for (const one of waiting) one.reject(new Error(`${name} ended early (${code})`));
  });
  const answer = () => new Promise((resolve, reject) => waiting.push({ resolve, reject }));
  return {
    pid: child.pid,
    answer,
    ask(command) {
      child.stdin.write(`${command}\n`);
      return answer();
    },
    async stop() {
      child.stdin.end();
      await ended;
    },
  };
}

// A provider on a free port; `files` are the bodies it replays.
export async function startProvider(files = []) {
  const [answer] = madeFiles('openai_chat', { count: 1, deltas: 256 });
  const provider = startProgram('mock_provider', [answer, ...files]);
  const { port } = await provider.answer();
  return { ...provider, port, url: `http://127.0.0.1:${port}/v1` };
}

// Passes the provider's bytes on, and does nothing else.
export async function startRelay(provider) {
  const relay = startProgram('bare_relay', [provider.port]);
  const { port } = await relay.answer();
  return { ...relay, port };
}

// Readers of the streams of one server, which are `merged` where deltas may come joined.
export async function startLoad(port, path, { merged = false } = {}) {
  const load = startProgram('stream_load', [port, path, ...(merged ? ['merged'] : [])]);
  await load.answer();
  return load;
}

// First tokens of a provider, or of a server in front of it, at a reader that does nothing else; see
// native/bare_reader.cpp.
export async function readBare({ port, path = '/v1/chat/completions' }, plan) {
  const { chats, spread, deltas, rate } = plan;
  const reader = startProgram('bare_reader', [port, path, chats, spread, deltas, rate]);
  const seen = await reader.answer();
  await reader.stop();
  return seen;
}
