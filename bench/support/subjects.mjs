// The servers that the table about many streams measures. Each start() gives { pid, port, path, stop } and, for
// servers in Node, ask() for what only the process itself knows. One that `isIdle` can only hold streams open;
// the bounded sample has those that are `isInSample`.
import { spawn } from 'node:child_process';
import { join } from 'node:path';

import { start } from './children.mjs';
import { root } from './paths.mjs';

async function startProxy(file, provider) {
  const child = start(file, { provider: provider.url }, { seconds: 300 });
  const { port } = await child.answer();
  return { ...child, port, path: '/agent' };
}

// The command line of the package, as `npm start` runs it; `more` are further arguments.
export async function startServe(provider, more = []) {
  const child = spawn(
    process.execPath,
    [
      '--import',
      join(root, 'bench/support/tether.mjs'),
      join(root, 'dist/cjs/cli/main.js'),
      'serve',
      '--port',
      '0',
      '--model',
      'openai:example',
      ...more,
    ],
    {
      env: {
        ...process.env,
        OPENAI_BASE_URL: provider.url,
        OPENAI_API_KEY: 'none',
        MILLRACE_BENCH_SECONDS: '300',
      },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    },
  );
  const ended = new Promise((resolve) => child.on('exit', resolve));
  const port = await new Promise((resolve, reject) => {
    let received = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        received += text;
        const found = /http:\/\/127\.0\.0\.1:(\d+)/.exec(received);
        if (found) resolve(Number(found[1]));
      });
    }
    ended.then(() => reject(new Error(`millrace serve ended early: ${received}`)));
  });
  const stop = async () => {
    child.kill('SIGTERM');
    // The channel that the tether listens to would keep it waiting.
    child.disconnect();
    const late = setTimeout(() => child.kill('SIGKILL'), 5000);
    await ended;
    clearTimeout(late);
  };
  return { pid: child.pid, port, path: '/agent', stop };
}

export const subjects = [
  { key: 'serve', label: 'millrace serve', isInSample: true, start: startServe },
  {
    key: 'pipe',
    label: 'pipeAGUI into a Node response',
    isInSample: true,
    start: (to) => startProxy('servers/millrace-pipe.mjs', to),
  },
  {
    key: 'web',
    label: 'toAGUIResponse, a web Response',
    start: (to) => startProxy('servers/millrace-web.mjs', to),
  },
  {
    key: 'javascript',
    label: 'hand-written JavaScript proxy',
    isInSample: true,
    start: (to) => startProxy('servers/js-proxy.mjs', to),
  },
  {
    key: 'bare',
    label: 'bare Node server, no provider behind it',
    isIdle: true,
    start: (to) => startProxy('servers/node-hold.mjs', to),
  },
];
