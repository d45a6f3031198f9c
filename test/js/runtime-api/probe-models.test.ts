// What the probes report of the models of registered agents: each switch is one that the request bodies follow.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { createAgent } from 'millrace';

import { bareEnvironment } from '../../support/environment';
import { bodyOf, loopback, type Loopback } from '../support/server';
import { cleanUp, hosts, type Json, serve } from './kit';

const cli = join(__dirname, '../../../dist/cjs/cli/main.js');
const opened: { close(): unknown }[] = [];
afterEach(async () => {
  await cleanUp();
  await Promise.all(opened.splice(0).map((one) => one.close()));
});

/** A provider that keeps what it was sent, and answers nothing. */
async function provider(): Promise<Loopback & { sent: { path: string; body: Json }[] }> {
  const sent: { path: string; body: Json }[] = [];
  const made = await loopback((request, response) => {
    void bodyOf(request).then((text) => {
      if (text) sent.push({ path: request.url ?? '', body: JSON.parse(text) });
      response.writeHead(400, { 'content-type': 'application/json' }).end('{}');
    });
  });
  opened.push(made);
  return Object.assign(made, { sent });
}

interface Case {
  model: string;
  parameters?: object;
  settings?: object;
  reported: object;
  /** Not reported: nothing would follow them. */
  absent?: string[];
  /** The body, but for its messages. */
  body: object;
}

const streamed = { stream: true, stream_options: { include_usage: true } };
const cases: Record<string, Case> = {
  'no settings': {
    model: 'deepseek:deepseek-chat',
    reported: {
      ...{ model_name: 'deepseek-chat', provider: 'deepseek', api_mode: 'chat_completions' },
      ...{ stream_enabled: true, thinking_param_enabled: false, thinking_enabled: false },
    },
    absent: ['max_tokens', 'reasoning_effort', 'prompt_cache_enabled'],
    body: { model: 'deepseek-chat', ...streamed },
  },
  'thinking and a limit': {
    model: 'deepseek:deepseek-chat',
    parameters: { thinking: { type: 'enabled' }, max_tokens: 77 },
    reported: { thinking_param_enabled: true, thinking_enabled: true, max_tokens: 77 },
    body: {
      ...{ model: 'deepseek-chat', ...streamed },
      ...{ thinking: { type: 'enabled' }, max_tokens: 77 },
    },
  },
  'no thinking': {
    model: 'deepseek:deepseek-chat',
    parameters: { thinking: { type: 'disabled' } },
    reported: { thinking_param_enabled: true, thinking_enabled: false },
    body: { model: 'deepseek-chat', ...streamed, thinking: { type: 'disabled' } },
  },
  'an effort': {
    model: 'openai:gpt-5-mini',
    parameters: { reasoning_effort: 'low' },
    reported: { reasoning_enabled: true, reasoning_effort: 'low', context_window_tokens: 400000 },
    absent: ['thinking_enabled'],
    body: { model: 'gpt-5-mini', ...streamed, reasoning_effort: 'low' },
  },
  'the Responses API': {
    model: 'openai:gpt-5-mini',
    parameters: { apiMode: 'responses', reasoning_effort: 'high' },
    reported: { api_mode: 'responses', reasoning_effort: 'high' },
    body: {
      ...{ model: 'gpt-5-mini', stream: true, reasoning: { effort: 'high' } },
      ...{ store: false, include: ['reasoning.encrypted_content'] },
    },
  },
  'a cached prompt and a budget': {
    model: 'anthropic:claude-sonnet-4-5',
    parameters: {
      ...{ enabledContextCaching: true, max_tokens: 4000 },
      thinking: { type: 'enabled', budget_tokens: 2000 },
    },
    reported: {
      ...{ api_mode: 'anthropic', prompt_cache_enabled: true, max_tokens: 4000 },
      ...{ thinking_param_enabled: true, thinking_enabled: true },
    },
    body: {
      ...{ model: 'claude-sonnet-4-5', max_tokens: 4000, stream: true },
      thinking: { type: 'enabled', budget_tokens: 2000 },
    },
  },
  'an answer in one piece': {
    model: 'openai:gpt-4o-mini',
    parameters: { stream: false },
    reported: { stream_enabled: false },
    absent: ['thinking_enabled'],
    body: { model: 'gpt-4o-mini', stream: false },
  },
};

describe.each(hosts)('the probe of models (%s)', (host) => {
  it.each(Object.entries(cases))('reports %s as the request has it', async (_name, one) => {
    const { url, sent } = await provider();
    const { model, parameters = {}, settings = {}, reported, absent = [], body } = one;
    const secret = { baseURL: `${url}/private`, apiKey: 'sk-secret', maxRetries: 0, ...settings };
    const api = await serve(host, { agent: { model, provider: secret, parameters } as never });
    const { models } = await api.json('/api/v1/probes/internal', 200);
    expect(models.chat_model).toMatchObject({ ...reported, api_url: `${url}/...` });
    for (const name of absent) expect(models.chat_model).not.toHaveProperty(name);
    expect(JSON.stringify(models)).not.toMatch(/sk-secret|private/);
    await api.send('/api/v1/chat', { method: 'POST', json: { message: 'Hi' } });
    const { messages: _messages, input: _input, ...rest } = sent[0]?.body ?? {};
    expect(rest).toEqual(body);
  });

  it('reports a replay of reasoning that the next request has', async () => {
    for (const preserveThinking of [false, true]) {
      const requests: Json[] = [];
      const { url } = await answering(requests);
      const agent = {
        model: 'openai:gpt-4o-mini',
        provider: { baseURL: url, apiKey: 'k' },
        parameters: { preserveThinking },
      };
      const api = await serve(host, { agent: agent as never });
      const { models } = await api.json('/api/v1/probes/internal', 200);
      expect(models.chat_model.reasoning_content_replay).toBe(preserveThinking);
      for (const message of ['One', 'Two']) {
        await api.json('/api/v1/chat', 200, { method: 'POST', json: { message } });
      }
      const replayed = JSON.stringify(requests[1].messages).includes('I think so');
      expect(replayed).toBe(preserveThinking);
    }
  });

  it('names each agent, its fallbacks and its sub-agents, and tries their addresses', async () => {
    const { url, sent } = await provider();
    const settings = { baseURL: url, apiKey: 'sk-secret' };
    const seen: (string | undefined)[] = [];
    const up = await loopback((request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(404).end();
    });
    opened.push(up);
    const named = { model_name: 'mine', api_url: `${up.url}/v1`, api_key: 'sk-own' };
    const helper = createAgent({ model: 'openai:c', provider: settings });
    const api = await serve(host, {
      agent: {
        ...{ model: 'openai:a', provider: settings },
        fallback: [{ provider: 'openai', model: 'b', ...settings }],
        agents: [{ name: 'helper', description: 'Helps.', agent: helper }],
      } as never,
      api: { probes: { models: { other_model: named } } },
      prepare: (runtime) => {
        for (const name of ['other', 'chat']) {
          createAgent({ model: `openai:${name}`, provider: settings, runtime, name });
        }
        runtime.agent('function', () => Promise.resolve(''));
      },
    });
    const { models } = await api.json('/api/v1/probes/internal', 200);
    const names = Object.entries(models).map(([name, model]) => [name, (model as Json).model_name]);
    expect(Object.fromEntries(names)).toEqual({
      ...{ chat_model: 'a', chat_model_2: 'b', helper_model: 'c', chat_model_3: 'chat' },
      other_model: 'mine',
    });
    const { ok, results } = await api.json('/api/v1/probes/external', 200);
    expect(ok).toBe(true);
    expect(results.map(({ name }: Json) => name).sort()).toEqual(Object.keys(models).sort());
    expect(seen).toEqual(['Bearer sk-own']);
    expect(sent).toEqual([]);
  });
});

/** A model that thinks before it answers. */
async function answering(requests: Json[]): Promise<Loopback> {
  const data = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
  const piece = (delta: object): string => data({ choices: [{ index: 0, delta }] });
  const made = await loopback((request, response) => {
    void bodyOf(request).then((text) => {
      requests.push(JSON.parse(text));
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const end = data({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
      const answer = piece({ reasoning_content: 'I think so' }) + piece({ content: 'Yes' });
      response.end(`${answer}${end}data: [DONE]\n\n`);
    });
  });
  opened.push(made);
  return made;
}

describe('the probe of models (serve)', () => {
  const children: ChildProcess[] = [];
  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
  });

  it('reports the address of the server and its model', async () => {
    const { url: upstream } = await provider();
    const folder = mkdtempSync(join(tmpdir(), 'millrace-probe-'));
    opened.push({ close: () => rmSync(folder, { recursive: true, force: true }) });
    const store = `file:${join(folder, 'runs.db')}`;
    const args = ['--port', '0', '--json', '--storage', store, '--model', 'openai:gpt-5-mini'];
    const child = spawn(process.execPath, [cli, 'serve', ...args, '--base-url', upstream], {
      env: { ...bareEnvironment, OPENAI_API_KEY: 'sk-secret' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    children.push(child);
    const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
    const url = new URL((JSON.parse(line) as { url: string }).url);
    const answer = await fetch(new URL('/api/v1/probes/internal', url));
    const { api, models } = (await answer.json()) as Json;
    expect(api).toMatchObject({ host: url.hostname, port: Number(url.port) });
    expect(models).toMatchObject({
      chat_model: { model_name: 'gpt-5-mini', api_url: `${upstream}/...` },
    });
  });
});
