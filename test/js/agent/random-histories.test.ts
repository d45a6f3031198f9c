// Random runs - calls, failures, aborts, approvals, compressions, edits - leave histories that strict
// validators of four APIs accept. MILLRACE_CASES says how many (10,000 in the stress tier),
// MILLRACE_SEED repeats a run.
/* eslint-disable @typescript-eslint/no-explicit-any */
import {
  AgentRuntime,
  GeneralChatAgent,
  anthropicMessageFormat,
  geminiMessageFormat,
  openAIConversationMessageFormat,
  openAIMessageFormat,
  type AgentState,
} from 'millrace';

import {
  anthropicRules,
  chatCompletionsRules,
  geminiRules,
  responsesRules,
} from '../../support/wire-rules';
import { testSeed } from '../support/seed';

const cases = Number(process.env.MILLRACE_CASES ?? 60);
const firstSeed = testSeed();

// mulberry32
function randomOf(seed: number) {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    chance: (share: number) => next() < share,
    below: (limit: number) => Math.floor(next() * limit),
    one: <T>(values: readonly T[]): T => values[Math.floor(next() * values.length)] as T,
  };
}
type Random = ReturnType<typeof randomOf>;

const ids = ['', 'c1', 'c1', 'c2', 'call_3', 'x'.repeat(70), 'odd id!'];
const names = ['works', 'fails', 'hangs', 'asks', 'unknown', 'parks', 'bad name!', ''];
const texts = ['', 'Hello', '{"a":1}', '\ud83d\ude00', '\ud83d', 'x'.repeat(300), '</tool>', null];
const argumentTexts = ['{}', '', '{"a":1}', '[1]', '"x"', '{"broken', 'null', '{"path":"/"}'];

const call = (random: Random) => ({
  id: random.one(ids),
  type: 'function',
  function: { name: random.one(names), arguments: random.one(argumentTexts) },
});

function modelOf(random: Random, sent: any[][], abort: () => void) {
  return async function* (payload: any) {
    sent.push(structuredClone(payload.messages));
    if (random.chance(0.05)) throw random.one([new Error('down'), null, 'text']);
    if (random.chance(0.1)) abort();
    if (random.chance(0.1)) return;
    yield { content: random.one(texts) };
    if (random.chance(0.55)) {
      yield { tool_calls: Array.from({ length: 1 + random.below(4) }, () => call(random)) };
    }
  };
}

const toolsOf = (random: Random, abort: () => void) => ({
  works: () => random.one<unknown>(['ok', { a: 1 }, null, undefined, '', 7, ['x'], '\ud83d']),
  fails: () => {
    throw random.one<unknown>([new Error('no'), null, 'text', { type: 'T', message: 'm' }]);
  },
  hangs: () => {
    abort();
    return new Promise(() => undefined);
  },
  asks: () => 'approved',
  parks: () => 'done',
});

// What a user or a host does between two runs.
async function interfere(runtime: AgentRuntime, random: Random, state: AgentState) {
  const open = state.pendingToolsCalling ?? [];
  if (state.status === 'waiting_for_human' && open.length > 0) {
    const action = random.one(['approve', 'approve_all', 'reject', 'reject_and_continue', 'stop']);
    const toolCallId = random.one(open).id;
    const editedArguments = random.chance(0.3) ? random.one(argumentTexts) : undefined;
    return runtime.decide(state, { action, toolCallId, editedArguments } as any);
  }
  return undefined;
}

function edited(random: Random, state: AgentState): AgentState {
  const messages: any[] = structuredClone(state.messages);
  if (messages.length > 1 && random.chance(0.2)) messages.splice(random.below(messages.length), 1);
  if (messages.length > 1 && random.chance(0.1)) messages.splice(1 + random.below(messages.length));
  messages.push({ role: 'user', content: random.one(['More.', 'x'.repeat(2000)]) });
  return { ...state, status: 'idle', messages };
}

async function history(seed: number): Promise<{ sent: any[][]; steps: string[] }> {
  const random = randomOf(seed);
  const sent: any[][] = [];
  const steps: string[] = [];
  let controller = new AbortController();
  const abort = () => queueMicrotask(() => controller.abort(new Error('enough')));
  const window = random.one([400, 100_000]);
  const agent = Object.assign(
    new GeneralChatAgent({ compressionConfig: { maxWindowToken: window } }),
    { tools: toolsOf(random, abort), modelRuntime: modelOf(random, sent, abort) },
  );
  const runtime = new AgentRuntime(agent as any, { history: 'engine' });
  const policy = (name: string) => ({
    identifier: name,
    humanIntervention: name === 'asks' ? 'required' : 'never',
  });
  let state = AgentRuntime.createInitialState({
    operationId: `op-${seed}`,
    maxSteps: 6,
    messages: [
      ...(random.chance(0.5) ? [{ role: 'system', content: 'S' }] : []),
      { role: 'user', content: 'Go.' },
    ],
    toolManifestMap: Object.fromEntries(names.map((name) => [name, policy(name)])),
    userInterventionConfig: { approvalMode: random.one(['manual', 'auto-run', 'headless']) },
  } as any);
  let context: any;
  for (let round = 0; round < 8; round += 1) {
    controller = new AbortController();
    const result = await runtime.run(state, context, { signal: controller.signal });
    steps.push(`${result.newState.status}`);
    // As it would be stored.
    state = JSON.parse(JSON.stringify(result.newState)) as AgentState;
    context = undefined;
    const decided = await interfere(runtime, random, state).catch((error: Error) => {
      steps.push(`refused: ${error.message}`);
      return undefined;
    });
    if (decided) {
      steps.push('decided');
      state = JSON.parse(JSON.stringify(decided.newState)) as AgentState;
      context = decided.nextContext;
      if (context) continue;
    }
    if (random.chance(0.25)) break;
    state = edited(random, { ...state, stepCount: 0, forceFinish: false });
  }
  return { sent, steps };
}

const wires = [
  ['chat completions', openAIMessageFormat, chatCompletionsRules],
  ['responses', openAIConversationMessageFormat, responsesRules],
  ['anthropic', anthropicMessageFormat, anthropicRules],
  ['gemini', geminiMessageFormat, geminiRules],
] as const;

describe('histories of random runs', () => {
  it(`are valid for four APIs (${cases} cases from seed ${firstSeed})`, async () => {
    let requests = 0;
    for (let seed = firstSeed; seed < firstSeed + cases; seed += 1) {
      const { sent, steps } = await history(seed);
      for (const messages of sent) {
        requests += 1;
        const raw = chatCompletionsRules(messages).map((rule) => `rows: ${rule}`);
        const canonical = openAIMessageFormat.fromApi(messages);
        const broken = wires.flatMap(([wire, format, rules]) =>
          rules(format.toApi(canonical)).map((rule) => `${wire}: ${rule}`),
        );
        if (raw.length + broken.length > 0) {
          throw new Error(
            [
              `seed ${seed}`,
              ...raw,
              ...broken,
              steps.join(' > '),
              JSON.stringify(messages).slice(0, 5000),
            ].join('\n'),
          );
        }
      }
    }
    expect(requests).toBeGreaterThan(cases);
  }, 3_600_000);
});
