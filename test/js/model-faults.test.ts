// Every fault of a provider, over three APIs, streamed and not: the expected outcome, no hang, no key.
import type { ModelRun, ModelRuntimeOptions } from 'millrace';
import { MillraceError, createModelRuntime } from 'millrace';

import type { FaultyProvider, Mode, Outcome } from '../support/faulty-provider';
import { answerText, callModes, modes, startFaultyProvider } from '../support/faulty-provider';
import type { Api } from '../support/model-wires';
import { apis, usage } from '../support/model-wires';

jest.setTimeout(60_000);

const key = 'sk-the-secret-of-this-test-4711';
const longestMs = 20_000;

interface Trial {
  name: string;
  mode: Mode;
  api: Api;
  streamed: boolean;
}

interface Seen {
  text?: string;
  calls?: string[];
  error?: unknown;
  requests: number;
  events: string[];
  usage: Awaited<ModelRun['usage']>;
  attempts: Awaited<ModelRun['attempts']>;
  ms: number;
  said: string;
}

function trialsOf(table: Record<string, Mode>): Trial[] {
  const trials: Trial[] = [];
  for (const [name, mode] of Object.entries(table)) {
    for (const api of mode.apis ?? apis) {
      if (mode.only !== 'json') trials.push({ name, mode, api, streamed: true });
      if (mode.only !== 'stream') trials.push({ name, mode, api, streamed: false });
    }
  }
  return trials;
}

const settings: ModelRuntimeOptions = {
  apiKey: key,
  maxRetries: 2,
  timeouts: { connect: 10_000, firstByte: 1_500, idle: 1_500, total: longestMs },
  limits: { decodedBytes: 4 << 20, eventBytes: 1 << 20, lineBytes: 1 << 20 },
};

let provider: FaultyProvider;
let count = 0;

beforeAll(async () => {
  provider = await startFaultyProvider();
});

afterAll(() => provider.close());

async function attempt(trial: Trial, more: ModelRuntimeOptions = {}): Promise<Seen> {
  const label = `t${(count += 1)}`;
  const origin = `${provider.url}/${label}`;
  const runtime = createModelRuntime(trial.api === 'messages' ? 'anthropic' : 'openai', {
    ...settings,
    baseURL: trial.api === 'messages' ? origin : `${origin}/v1`,
    ...(trial.api === 'responses' ? { apiMode: 'responses' } : {}),
    ...more,
  });
  const started = performance.now();
  const run = runtime.stream({
    model: trial.name,
    messages: [{ role: 'user', content: 'Say hello.' }],
    stream: trial.streamed,
  });
  const events: string[] = [];
  const calls = new Map<string, string>();
  for await (const event of run) {
    events.push(event.type);
    if (event.type === 'TOOL_CALL_START') calls.set(event.toolCallId, '');
    if (event.type === 'TOOL_CALL_ARGS') {
      calls.set(event.toolCallId, (calls.get(event.toolCallId) ?? '') + event.delta);
    }
  }
  const report = await run.report;
  const [result] = await Promise.allSettled([run.text()]);
  const error: unknown = result.status === 'rejected' ? result.reason : undefined;
  return {
    ...(result.status === 'fulfilled' ? { text: result.value } : { error }),
    calls: [...calls.values()],
    requests: provider.requests(label),
    events,
    usage: report.usage,
    attempts: report.attempts,
    ms: performance.now() - started,
    said: JSON.stringify([report, events, String(error), { ...(error as object) }]),
  };
}

// A few hundred calls at a time would make their own time limits a lottery.
async function allOf(trials: readonly Trial[], more?: ModelRuntimeOptions): Promise<Seen[]> {
  const results: Seen[] = [];
  const queue = trials.map((trial, at) => ({ trial, at }));
  const worker = async (): Promise<void> => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      results[next.at] = await attempt(next.trial, more);
    }
  };
  await Promise.all(Array.from({ length: 16 }, worker));
  return results;
}

const requestsOf: Record<Outcome, (mode: Mode) => number> = {
  complete: () => 1,
  retried: ({ fails = 1 }) => fails + 1,
  fatal: () => 1,
  partial: () => 1,
  exhausted: () => 3,
};

function expectOutcome({ name, mode }: Trial, seen: Seen): void {
  const isGood = mode.outcome === 'complete' || mode.outcome === 'retried';
  expect(seen.ms).toBeLessThan(longestMs);
  if (isGood) {
    expect(seen.error).toBeUndefined();
    expect(seen.text).toBe(answerText);
    expect(seen.events.at(-1)).toBe('RUN_FINISHED');
    const isSilent = name.endsWith('-usage');
    expect(seen.usage.source).toBe(isSilent ? 'estimated' : 'reported');
    if (!isSilent) expect(seen.usage.totalOutputTokens).toBe(usage.output);
    else expect(seen.usage.totalOutputTokens).toBeGreaterThan(0);
  } else {
    expect(seen.error).toBeInstanceOf(MillraceError);
    expect((seen.error as MillraceError).code).toBe(mode.code);
    expect((seen.error as MillraceError).errorType).toMatch(/^[A-Z]\w+$/);
    expect(seen.events.at(-1)).toBe('RUN_ERROR');
  }
  if (mode.outcome === 'partial') {
    expect(seen.attempts[0]).toMatchObject({ shown: true, usage: { source: 'estimated' } });
    expect(seen.events).toContain('TEXT_MESSAGE_END');
  }
  if (!name.startsWith('redirect')) {
    expect(seen.requests).toBe(requestsOf[mode.outcome](mode));
    expect(seen.attempts).toHaveLength(seen.requests);
  }
  expect(seen.said).not.toContain('the-secret-of-this-test');
}

describe.each([
  ['the engine', {}],
  ['a fetch function', { transport: 'fetch' as const }],
])('through %s', (transport, more: ModelRuntimeOptions) => {
  // What fetch itself does otherwise: it decodes, follows and limits by its own rules.
  const different = /^(huge-head|unknown-coding|bad-coding|gzip-bomb|redirect|early-hints)/;
  const trials = trialsOf(modes).filter(
    ({ name, streamed }) => transport === 'the engine' || (streamed && !different.test(name)),
  );
  let results: Seen[] = [];

  beforeAll(async () => {
    results = await allOf(trials, more);
  });

  it.each(
    trials.map((trial, at) => [trial.name, trial.api, trial.streamed ? 'streamed' : 'whole', at]),
  )('%s over %s, %s', (_name, _api, _kind, at) => {
    expectOutcome(trials[at] as Trial, results[at] as Seen);
  });
});

it.each(trialsOf(callModes).map((trial) => [trial.name, trial.api, trial.streamed, trial]))(
  '%s over %s gives the calls (streamed: %s)',
  async (name, _api, _streamed, trial) => {
    const seen = await attempt(trial);
    expect(seen.error).toBeUndefined();
    const expected = name === 'two-calls' || name === 'equal-ids' ? 2 : 1;
    expect(seen.calls?.map((text) => JSON.parse(text) as unknown)).toEqual(
      Array.from({ length: expected }, () => ({ city: 'Paris' })),
    );
  },
);

it('never takes a key to another origin', () => {
  expect(provider.strays.length).toBeGreaterThan(0);
  for (const stray of provider.strays) expect(stray).not.toContain('the-secret-of-this-test');
});
