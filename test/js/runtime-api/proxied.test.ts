// Streams of the routes behind the proxies of the operating system: each frame arrives at once, also those that keep it alive, and a
// reader that leaves is seen.
import type { Daemon } from '../../support/daemons';
import { describeWith, freePort, startDaemon, workFolder } from '../../support/daemons';
import { type ScriptedModel, startModel } from '../../support/scripted-model';
import { type Api, cleanUp, Gate, type Json, key, serve, withKey } from './kit';

jest.setTimeout(60_000);

interface Proxy {
  program: string;
  args: (file: string) => string[];
  settings: (folder: string, port: number, server: string) => string;
}

const nginx: Proxy = {
  program: 'nginx',
  args: (file) => ['-c', file],
  settings: (folder, port, server) => `
    daemon off; pid ${folder}/pid; error_log ${folder}/error.log; worker_processes 1;
    events { worker_connections 512; }
    http {
      access_log off;
      client_body_temp_path ${folder}/b; proxy_temp_path ${folder}/p; fastcgi_temp_path ${folder}/f;
      uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;
      server {
        listen 127.0.0.1:${port};
        location / {
          proxy_pass http://${server}; proxy_http_version 1.1;
          proxy_set_header Host ${server}; proxy_buffering on;
        }
      }
    }`,
};

const haproxy: Proxy = {
  program: 'haproxy',
  args: (file) => ['-db', '-f', file],
  settings: (_folder, port, server) => `
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
frontend front
  bind 127.0.0.1:${port}
  default_backend routes
backend routes
  http-request set-header Host ${server}
  server only ${server}
`,
};

const json = { 'content-type': 'application/json', ...withKey };
const post = (body: object): RequestInit => ({
  method: 'POST',
  headers: json,
  body: JSON.stringify(body),
});

const question = {
  ...{ messages: [{ id: '1', role: 'user', content: 'go' }], tools: [], context: [] },
  ...{ state: {}, forwardedProps: {} },
};

describe.each([nginx, haproxy])('behind $program', ({ program, args, settings }) => {
  describeWith([program], program, () => {
    let api: Api;
    let model: ScriptedModel;
    let proxy: Daemon;
    let url: string;
    let gate: Gate;

    beforeAll(async () => {
      model = await startModel(() => ({ text: 'first words', waits: gate.opened }));
      const provider = { baseURL: model.url, apiKey: 'k', maxRetries: 0 };
      const agent = { model: 'openai:scripted', provider };
      api = await serve('listen', { api: { keys: [{ key }] }, agent });
      const port = await freePort();
      const folder = workFolder();
      const server = new URL(api.url).host;
      proxy = await startDaemon(program, folder, settings(folder, port, server), args, port);
      url = `http://127.0.0.1:${port}`;
    });
    afterAll(async () => {
      await proxy.stop();
      await cleanUp();
      await model.close();
    });
    beforeEach(() => {
      gate = new Gate();
    });
    afterEach(() => gate.open());

    const call = async <T>(path: string, body: object): Promise<T> =>
      (await (await fetch(`${url}${path}`, post(body))).json()) as T;
    const read = (path: string, signal?: AbortSignal): Promise<Response> =>
      fetch(`${url}${path}`, {
        headers: { ...withKey, accept: 'text/event-stream' },
        ...(signal && { signal }),
      });
    // Each in a conversation of its own.
    const startJob = async (): Promise<string> => {
      const { conversation } = await call<Json>('/api/v1/chat/conversations', {});
      const body = { message: 'go', conversation_id: conversation.id };
      return (await call<{ job_id: string }>('/api/v1/chat/jobs', body)).job_id;
    };

    const streams: [string, RegExp, () => Promise<Response>][] = [
      [
        'chat/jobs/<id>/events',
        /first/,
        async () => read(`/api/v1/chat/jobs/${await startJob()}/events?deltas=1`),
      ],
      [
        'POST chat',
        /waiting_model/,
        () => fetch(`${url}/api/v1/chat`, post({ message: 'go', stream: true })),
      ],
      [
        'POST /agent',
        /first/,
        () => fetch(`${url}/agent`, post({ threadId: 'ag-ui', runId: 'r', ...question })),
      ],
      [
        '/api/agent/stream',
        /first/,
        async () => {
          const made = await call<{ operationId: string }>('/api/agent/operations', {
            prompt: 'go',
          });
          return read(`/api/agent/stream?operationId=${made.operationId}`);
        },
      ],
    ];

    const isOver = /event: (done|agent_runtime_end)|RUN_FINISHED/;
    // The model goes on only once the client has what it wrote.
    it.each(streams)('%s passes each frame on at once', async (_name, early, open) => {
      const response = await open();
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
      let got = '';
      let wasEarly = false;
      for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
        got += Buffer.from(piece).toString('utf8');
        if (wasEarly || !early.test(got)) continue;
        wasEarly = true;
        expect(got).not.toMatch(isOver);
        gate.open();
      }
      expect(wasEarly).toBe(true);
      expect(got).toMatch(isOver);
    });

    // A stage that lasts is repeated each second.
    it('passes what keeps a silent stream alive', async () => {
      const response = await read(`/api/v1/chat/jobs/${await startJob()}/events`);
      let got = '';
      for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
        got += Buffer.from(piece).toString('utf8');
        if (/waiting_model[^]*waiting_model/.test(got)) gate.open();
      }
      expect(got).toMatch(/event: done/);
    });

    it('reports a reader that leaves', async () => {
      const readers = async (): Promise<string | undefined> => {
        const text = await (await api.send('/metrics', { headers: withKey })).text();
        return /^millrace_readers (\d+)$/m.exec(text)?.[1];
      };
      const leaves = new AbortController();
      const response = await read(`/api/v1/chat/jobs/${await startJob()}/events`, leaves.signal);
      const body = response.body!.getReader();
      await body.read();
      expect(await readers()).toBe('1');
      leaves.abort();
      await expect(body.read()).rejects.toThrow();
      while ((await readers()) !== '0') await new Promise((resolve) => setTimeout(resolve, 20));
    });
  });
});
