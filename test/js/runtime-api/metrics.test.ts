// What /metrics counts: read by a parser of the format of Prometheus, and compared with what the test did.
import { tool } from 'millrace';

import { type ScriptedModel, startModel } from '../../support/scripted-model';
import { loopback, type Loopback } from '../support/server';
import { type Api, cleanUp, hosts, key, runJob, serve, startJob, withKey } from './kit';

const closers: (ScriptedModel | Loopback)[] = [];
afterEach(async () => {
  jest.restoreAllMocks();
  await cleanUp();
  await Promise.all(closers.splice(0).map((one) => one.close()));
});

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 10));
}

interface Metric {
  type: string;
  help: string;
  /** By the labels as they are written. */
  samples: Map<string, number>;
}

// The name of the metric that a sample belongs to.
function metricOf(name: string, metrics: Map<string, Metric>): Metric | undefined {
  const short = name.replace(/_(bucket|sum|count)$/, '');
  const metric = metrics.get(name) ?? metrics.get(short);
  return name === short || metric?.type === 'histogram' || metrics.has(name) ? metric : undefined;
}

// Throws where a line is not of the format, a name has no HELP and TYPE before it, or a sample comes twice.
function parse(text: string): Map<string, Metric> {
  const metrics = new Map<string, Metric>();
  const helps = new Map<string, string>();
  expect(text.endsWith('\n')).toBe(true);
  for (const line of text.slice(0, -1).split('\n')) {
    const comment = /^# (HELP|TYPE) ([a-z_]+) (.+)$/.exec(line);
    if (comment?.[1] === 'HELP') {
      helps.set(comment[2]!, comment[3]!);
      continue;
    }
    if (comment) {
      expect(metrics.has(comment[2]!)).toBe(false);
      const help = helps.get(comment[2]!) ?? '';
      metrics.set(comment[2]!, { type: comment[3]!, help, samples: new Map() });
      continue;
    }
    const sample = /^([a-z_]+)((?:\{(?:[a-z]+="(?:[^"\\\n]|\\.)*",?)+\})?) (\S+)$/.exec(line);
    if (!sample) throw new Error(`not a line of the format: ${line}`);
    const [, name = '', labels = '', value] = sample;
    const metric = metricOf(name, metrics);
    if (!metric) throw new Error(`without TYPE: ${line}`);
    expect(metric.samples.has(name + labels)).toBe(false);
    expect(Number(value)).not.toBeNaN();
    metric.samples.set(name + labels, Number(value));
  }
  return metrics;
}

const types: Record<string, string> = {
  millrace_runs_at_work: 'gauge',
  millrace_store_backlog_bytes: 'gauge',
  millrace_uptime_seconds: 'gauge',
  millrace_http_requests_total: 'counter',
  millrace_http_request_duration_seconds: 'histogram',
  millrace_readers: 'gauge',
  millrace_webhook_deliveries_total: 'counter',
  millrace_rejected_keys_total: 'counter',
  millrace_rate_limited_total: 'counter',
  millrace_runs_started_total: 'counter',
  millrace_runs_ended_total: 'counter',
  millrace_model_requests_total: 'counter',
  millrace_model_tokens_total: 'counter',
};

async function metricsOf(api: Api, headers: Record<string, string> = withKey) {
  const metrics = parse(await (await api.send('/metrics', { headers })).text());
  expect(Object.fromEntries([...metrics].map(([name, { type }]) => [name, type]))).toEqual(types);
  for (const { help } of metrics.values()) expect(help).not.toBe('');
  const all = new Map([...metrics.values()].flatMap(({ samples }) => [...samples]));
  return { all, of: (name: string): number => all.get(name) ?? 0 };
}

const requests = (route: string, method: string, status: string): string =>
  `millrace_http_requests_total{route="${route}",method="${method}",status="${status}"}`;

// Buckets only grow, and the last one has all.
function checkHistogram(all: Map<string, number>, route: string): number {
  const name = 'millrace_http_request_duration_seconds';
  const buckets = [...all].filter(([sample]) =>
    sample.startsWith(`${name}_bucket{route="${route}",`),
  );
  const bounds = buckets.map(([sample]) => /le="([^"]+)"/.exec(sample)?.[1]);
  expect(bounds.at(-1)).toBe('+Inf');
  const numbers = bounds.slice(0, -1).map(Number);
  expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
  const counts = buckets.map(([, count]) => count);
  expect(counts).toEqual([...counts].sort((a, b) => a - b));
  const count = all.get(`${name}_count{route="${route}"}`);
  expect(counts.at(-1)).toBe(count);
  expect(all.get(`${name}_sum{route="${route}"}`)).toBeGreaterThanOrEqual(0);
  return count ?? 0;
}

describe.each(hosts)('metrics (%s)', (host) => {
  const keyed = { keys: [{ key }] };

  it('count requests by the routes of the table', async () => {
    const api = await serve(host, { api: keyed });
    const get = (path: string) => api.send(path, { headers: withKey });
    const before = await metricsOf(api);
    for (let at = 0; at < 3; ++at) await (await get('/health')).text();
    for (const id of ['secret-one', 'secret-two']) {
      expect((await get(`/api/v1/chat/jobs/${id}`)).status).toBe(404);
    }
    expect((await get('/api/v1/no/such/route-of-mine')).status).toBe(404);
    const put = await api.send('/health', { method: 'PUT', headers: withKey });
    expect(put.status).toBe(405);
    const after = await metricsOf(api);
    const rise = (name: string): number => after.of(name) - before.of(name);
    expect(rise(requests('/health', 'GET', '2xx'))).toBe(3);
    expect(rise(requests('/health', 'PUT', '4xx'))).toBe(1);
    expect(rise(requests('/api/v1/chat/jobs/*', 'GET', '4xx'))).toBe(2);
    expect(rise(requests('unknown', 'GET', '4xx'))).toBe(1);
    // The one before.
    expect(rise(requests('/metrics', 'GET', '2xx'))).toBe(1);
    expect(checkHistogram(after.all, '/health')).toBe(4);
    expect(checkHistogram(after.all, '/api/v1/chat/jobs/*')).toBe(2);
    expect([...after.all.keys()].join()).not.toMatch(/secret|of-mine/);
  });

  it('count runs by how they ended, with their models', async () => {
    const model = await startModel((_body, index) => {
      if (index === 0) return { text: 'one', calls: [{ id: 'c', name: 'find', args: {} }] };
      return { text: 'two' };
    });
    closers.push(model);
    const provider = { baseURL: model.url, apiKey: 'k', maxRetries: 0 };
    const find = tool({ name: 'find', run: () => 'found' });
    const agent = { model: 'openai:scripted', provider, tools: [find] };
    const api = await serve(host, { api: keyed, agent });
    const message = { method: 'POST', json: { message: 'go' }, headers: withKey };
    const { job_id: id } = await api.json('/api/v1/chat/jobs', 202, message);
    const metrics = () => metricsOf(api);
    await until(async () => (await metrics()).of('millrace_runs_at_work') === 0);
    const job = await api.json(`/api/v1/chat/jobs/${id}`, 200, { headers: withKey });
    expect(job.status).toBe('done');
    const { of } = await metrics();
    expect(of('millrace_runs_started_total')).toBe(1);
    expect(of('millrace_runs_ended_total{status="completed"}')).toBe(1);
    expect(of('millrace_runs_ended_total{status="failed"}')).toBe(0);
    expect(of('millrace_model_requests_total{provider="openai"}')).toBe(2);
    expect(of('millrace_model_tokens_total{kind="input"}')).toBe(20);
    expect(of('millrace_model_tokens_total{kind="output"}')).toBe(10);
  });

  it('count runs that fail', async () => {
    const agent = () => Promise.reject(new Error('no'));
    jest.spyOn(console, 'error').mockImplementation();
    const api = await serve(host, { agent });
    expect((await runJob(api, 'go')).status).toBe('error');
    const { of } = await metricsOf(api);
    expect(of('millrace_runs_started_total')).toBe(1);
    expect(of('millrace_runs_ended_total{status="failed"}')).toBe(1);
  });

  it('count keys that are wrong, and those beyond their limits', async () => {
    const limited = { key: 'limited', limits: { perMinute: 1 } };
    const api = await serve(host, { api: { keys: [{ key }, limited] } });
    const send = async (value: string): Promise<number> => {
      const headers = { 'X-Millrace-API-Key': value };
      return (await api.send('/api/v1/commands', { headers })).status;
    };
    const statuses = [await send('wrong'), await send('limited'), await send('limited')];
    expect(statuses).toEqual([401, 200, 429]);
    expect((await api.send('/api/v1/commands')).status).toBe(401);
    const { of } = await metricsOf(api);
    expect(of('millrace_rejected_keys_total')).toBe(2);
    expect(of('millrace_rate_limited_total{limit="key"}')).toBe(1);
    expect(of('millrace_rate_limited_total{limit="address"}')).toBe(0);
  });

  it('count readers while they are there', async () => {
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const api = await serve(host, { agent: () => released.then(() => 'done') });
    const { job_id: id } = await startJob(api, { message: 'go' });
    const accept = { headers: { accept: 'text/event-stream' } };
    const readers = await Promise.all(
      [1, 2].map(() => api.send(`/api/v1/chat/jobs/${id}/events`, accept)),
    );
    expect((await metricsOf(api)).of('millrace_readers')).toBe(2);
    release();
    await Promise.all(readers.map((reader) => reader.text()));
    await until(async () => (await metricsOf(api)).of('millrace_readers') === 0);
  });

  it('count deliveries to webhooks', async () => {
    let tries = 0;
    const receiver = await loopback((_request, response) => {
      response.writeHead(++tries === 1 ? 500 : 204).end();
    });
    closers.push(receiver);
    const tools = { enabled: true, callbackAllow: ['127.0.0.1'], callbackTimeoutMs: 300 };
    const api = await serve(host, {
      api: { tools, webhooks: { retryDelaysMs: [1, 1] } },
      prepare: (runtime) => runtime.tools([tool({ name: 'plain', run: () => 'done' })]),
    });
    const callback = { enabled: true, url: `${receiver.url}/hook` };
    const json = { tool_name: 'plain', args: {}, callback };
    await api.json('/api/v1/tools/invoke', 200, { method: 'POST', json });
    const name = (outcome: string) => `millrace_webhook_deliveries_total{outcome="${outcome}"}`;
    await until(async () => (await metricsOf(api)).of(name('delivered')) === 1);
    const { of } = await metricsOf(api);
    expect([of(name('failed')), of(name('given_up'))]).toEqual([1, 0]);
  });
});
