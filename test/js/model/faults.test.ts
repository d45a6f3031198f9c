// Every fault of a provider, over three APIs, streamed and not: the expected outcome, no hang, no key.
//
// Runs alone: it measures time.
import type { ModelRun, ModelRuntimeOptions } from 'millrace';
import { MillraceError, createModelRuntime } from 'millrace';

import type { FaultyProvider, Mode, Outcome } from '../../support/faulty-provider';
import { answerText, callModes, modes, startFaultyProvider } from '../../support/faulty-provider';
import type { Api } from '../../support/model-wires';
import { apis, usage } from '../../support/model-wires';

jest.setTimeout(300_000);

const key = 'sk-the-secret-of-this-test-4711';
const longestMs = 60_000;

interface Trial {
  name: string;
  mode: Mode;
  api: Api;
  streamed: boolean;
}

interface Seen {
  text?: string;
  calls: { id: string; name: string; text: string }[];
  error?: unknown;
  requests: number;
  times: number[];
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
  // Every call fails on its own account.
  circuit: false,
  limits: { decodedBytes: 4 << 20, eventBytes: 1 << 20, parts: 8192, lineBytes: 1 << 20 },
};

// Where silence itself is the fault, its limit is short. Elsewhere a busy machine must not be taken for
// a silent one.
const limitsOf = ({ silent }: Mode): ModelRuntimeOptions['timeouts'] => ({
  connect: 30_000,
  firstByte: silent ? 4_000 : 30_000,
  idle: silent ? 1_500 : 30_000,
  total: longestMs,
});

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
    timeouts: limitsOf(trial.mode),
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
  const calls: Seen['calls'] = [];
  for await (const event of run) {
    events.push(event.type);
    if (event.type === 'TOOL_CALL_START') {
      calls.push({ id: event.toolCallId, name: event.toolCallName, text: '' });
    }
    if (event.type === 'TOOL_CALL_ARGS') {
      const call = calls.find(({ id }) => id === event.toolCallId);
      if (call) call.text += event.delta;
    }
  }
  const report = await run.report;
  const [result] = await Promise.allSettled([run.text()]);
  const error: unknown = result.status === 'rejected' ? result.reason : undefined;
  return {
    ...(result.status === 'fulfilled' ? { text: result.value } : { error }),
    calls,
    requests: provider.requests(label),
    times: provider.times(label),
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

function expectOutcome({ mode }: Trial, seen: Seen): void {
  const isGood = mode.outcome === 'complete' || mode.outcome === 'retried';
  expect(seen.ms).toBeLessThan(longestMs);
  if (isGood) {
    expect(seen.error).toBeUndefined();
    expect(seen.text).toBe(mode.text ?? answerText);
    expect(seen.events.at(-1)).toBe('RUN_FINISHED');
    expectTokens(mode, seen);
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
  expect(seen.attempts).toHaveLength(requestsOf[mode.outcome](mode));
  // A redirect is no attempt of ours.
  const followed = mode.notOverFetch && mode.requests === undefined;
  if (!followed) expect(seen.requests).toBe(mode.requests ?? seen.attempts.length);
  if (mode.waits) {
    const [first = 0, second = 0] = seen.times;
    const slack = 2_000; // of timers and of a busy machine
    expect(second - first).toBeGreaterThanOrEqual(mode.waits[0] - 2);
    expect(second - first).toBeLessThanOrEqual(mode.waits[1] + slack);
  }
  expect(seen.said).not.toContain('the-secret-of-this-test');
}

function expectTokens({ reported }: Mode, seen: Seen): void {
  expect(seen.usage.source).toBe(reported === false ? 'estimated' : 'reported');
  if (reported !== false) expect(seen.usage.totalOutputTokens).toBe(usage.output);
  else expect(seen.usage.totalOutputTokens).toBeGreaterThan(0);
}

describe.each([
  ['the engine', {}],
  ['a fetch function', { transport: 'fetch' as const }],
])('through %s', (transport, more: ModelRuntimeOptions) => {
  const trials = trialsOf(modes).filter(
    ({ mode, streamed }) => transport === 'the engine' || (streamed && !mode.notOverFetch),
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

describe('calls of tools', () => {
  const trials = Object.entries(callModes).flatMap(([name, mode]) =>
    trialsOf({ [name]: mode }).map((trial) => ({ ...trial, called: mode.calls })),
  );
  let results: Seen[] = [];

  beforeAll(async () => {
    results = await allOf(trials);
  });

  it.each(trials.map((trial, at) => [trial.name, trial.api, trial.streamed, at]))(
    '%s over %s (streamed: %s)',
    (_name, _api, _streamed, at) => {
      const { called, mode } = trials[at] as (typeof trials)[number];
      const seen = results[at] as Seen;
      expect(seen.error).toBeUndefined();
      expect(seen.events.at(-1)).toBe('RUN_FINISHED');
      const calls = seen.calls.map(({ name, text }) => {
        return { name, arguments: JSON.parse(text === '' ? '{}' : text) as unknown };
      });
      expect(calls).toEqual(called);
      const ids = seen.calls.map(({ id }) => id);
      expect(ids.every((id) => id !== '')).toBe(true);
      expect(new Set(ids).size).toBe(ids.length);
      expectTokens(mode, seen);
    },
  );
});

it('never follows a redirect to another origin', () => {
  expect(provider.strays).toEqual([]);
});
