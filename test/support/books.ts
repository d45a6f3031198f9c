// Random runs against a provider that keeps books of its own: what each request was sent, and what it
// was told of tokens. Whoever compares learns whether ours say the same.
import { readFileSync, readdirSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';

import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import type { CallReport, ModelRun, ModelRuntimeOptions, ModelUsage } from 'millrace';
import { createModelRuntime } from 'millrace';

import { json, received, sse } from './fault-kit';
import type { Answer, Api, ReportedTokens, WireRecord } from './model-wires';
import { apis, bytesOf, errorRecord, recordsOf, wholeOf } from './model-wires';
import { startProvider } from './provider';

/** Numbers in [0, 1) that follow from a seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

type End =
  | 'whole' // all of it, with the tokens
  | 'silent' // all of it, without
  | 'zeros' // all of it, tokens counted as none
  | 'cut' // the connection is reset in the middle
  | 'short' // the body ends in the middle
  | 'stuck' // nothing more comes
  | 'error' // an error record in the middle
  | 'stopped' // the client stops in the middle
  | 'aborted'; // its signal does
const ends: End[] = [
  'whole',
  'silent',
  'zeros',
  'cut',
  'short',
  'stuck',
  'error',
  'stopped',
  'aborted',
];

/** What one request is answered. */
interface Plan {
  /** Refused with this status instead. */
  refused?: number;
  end: End;
  deltas: string[];
  /** How many deltas come before the end in the middle. */
  sent: number;
  tokens: ReportedTokens;
}

interface Script {
  api: Api;
  streamed: boolean;
  plans: Plan[];
  fallback: boolean;
}

/** One run, and what was wrong with its books. */
export interface Played {
  problems: string[];
  kind: End | 'refused';
  /** Of estimates: ours and a tokenizer's. */
  estimated?: [ours: number, real: number];
}

const docs = join(__dirname, '../../docs');
// Pages of names are no prose.
const lists = ['providers.md', 'errors.md', 'exports.md'];
let prose: string | undefined;

function textFrom(random: () => number): string {
  prose ??= readdirSync(docs)
    .filter((name) => name.endsWith('.md') && !lists.includes(name))
    .map((name) => readFileSync(join(docs, name), 'utf8'))
    .join('\n')
    .replace(/^\|.*\|$/gm, '');
  const length = 200 + Math.floor(random() * 1_500);
  const at = Math.floor(random() * (prose.length - length));
  return prose.slice(at, at + length);
}

function piecesOf(text: string, random: () => number): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length;) {
    const size = 1 + Math.floor(random() * 40);
    pieces.push(text.slice(at, at + size));
    at += size;
  }
  return pieces;
}

function planOf(random: () => number, end: End): Plan {
  const deltas = piecesOf(textFrom(random), random);
  const input = 1 + Math.floor(random() * 50_000);
  const output = 1 + Math.floor(random() * 9_000);
  return {
    end,
    deltas,
    // Enough words for an estimate to be one.
    sent: Math.max(Math.ceil(deltas.length / 2), Math.floor(random() * deltas.length)),
    tokens: {
      input,
      output,
      ...(random() < 0.3 ? { cached: Math.floor(random() * input) } : {}),
      ...(random() < 0.3 ? { reasoning: Math.floor(random() * output) } : {}),
    },
  };
}

function scriptOf(random: () => number): Script {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const streamed = random() < 0.75;
  const end = random() < 0.4 ? 'whole' : pick(streamed ? ends : ends.slice(0, 3));
  const plans: Plan[] = [];
  for (
    let refusals = random() < 0.25 ? 1 + Math.floor(random() * 2) : 0;
    refusals > 0;
    --refusals
  ) {
    plans.push({ ...planOf(random, 'whole'), refused: pick([429, 500, 503, 529]) });
  }
  const fallback = random() < 0.15 && ['cut', 'short', 'error'].includes(end);
  plans.push(planOf(random, end));
  if (fallback) plans.push(planOf(random, 'whole'));
  return { api: pick(apis), streamed, plans, fallback };
}

const reported: Record<'whole' | 'silent' | 'zeros', (tokens: ReportedTokens) => Partial<Answer>> =
  {
    whole: (usage) => ({ usage }),
    silent: () => ({}),
    zeros: () => ({ usage: { input: 0, output: 0 } }),
  };

function answerOf({ end, deltas, tokens }: Plan): Answer {
  const make = reported[end as 'whole'] ?? reported.whole;
  return { deltas, ...make(tokens) };
}

/** The records up to the last delta that is sent. */
function middleOf(api: Api, plan: Plan): WireRecord[] {
  const records = recordsOf(api, answerOf(plan));
  const isDelta = /"content":"(?!")|output_text\.delta|text_delta/;
  let seen = 0;
  const last = records.findIndex(({ data }) => isDelta.test(data) && ++seen === plan.sent);
  return records.slice(0, last + 1);
}

function play(response: ServerResponse, api: Api, streamed: boolean, plan: Plan): void {
  response.on('error', () => undefined);
  if (plan.refused !== undefined) {
    response
      .writeHead(plan.refused, { ...json, 'retry-after-ms': '1' })
      .end(JSON.stringify(received('', 'not now')));
    return;
  }
  if (!streamed) {
    response.writeHead(200, json).end(JSON.stringify(wholeOf(api, answerOf(plan))));
    return;
  }
  response.writeHead(200, sse);
  if (plan.end in reported) {
    response.end(bytesOf(recordsOf(api, answerOf(plan))));
    return;
  }
  response.write(bytesOf(middleOf(api, plan)));
  if (plan.end === 'short') response.end();
  if (plan.end === 'error') response.end(bytesOf([errorRecord(api, 'server_error', 'Oops')]));
  if (plan.end === 'cut') setTimeout(() => response.socket?.resetAndDestroy(), 20);
}

const members = [
  'totalInputTokens',
  'totalOutputTokens',
  'totalTokens',
  'inputCachedTokens',
  'outputReasoningTokens',
] as const;

function checkReported({ tokens }: Plan, api: Api, usage: ModelUsage | undefined): string[] {
  const { input, output, cached, reasoning } = tokens;
  const wanted: Partial<Record<(typeof members)[number], number | undefined>> = {
    totalInputTokens: input,
    totalOutputTokens: output,
    totalTokens: input + output,
    // A zero is no count.
    inputCachedTokens: cached || undefined,
    ...(api === 'messages' ? {} : { outputReasoningTokens: reasoning || undefined }),
  };
  const problems = Object.entries(wanted)
    .filter(([name, count]) => usage?.[name as 'totalTokens'] !== count)
    .map(([name, count]) => `${name} is ${usage?.[name as 'totalTokens']}, reported ${count}`);
  if (usage?.source !== 'reported') problems.push(`the source is ${usage?.source}`);
  return problems;
}

function checkSum({ attempts, usage }: CallReport): string[] {
  const recorded = attempts.flatMap((attempt) => attempt.usage ?? []);
  return members.flatMap((name) => {
    const sum = recorded.reduce((all, row) => all + (row[name] ?? 0), 0);
    return (usage[name] ?? 0) === sum ? [] : [`${name}: rows ${sum}, run ${usage[name]}`];
  });
}

async function read(run: ModelRun, { end, sent, deltas }: Plan, abort: () => void): Promise<void> {
  const stops = end === 'stopped' || end === 'aborted';
  const enough = deltas.slice(0, sent).join('').length;
  let got = 0;
  for await (const event of run) {
    if (event.type === 'TEXT_MESSAGE_CONTENT') got += event.delta.length;
    if (!stops || got < enough) continue;
    if (end === 'stopped') run.stop();
    else abort();
  }
}

/** Plays so many runs at random, some at a time. */
export async function playTotals(seed: number, runs: number): Promise<Played[]> {
  const random = randomOf(seed);
  const scripts = Array.from({ length: runs }, () => scriptOf(random));
  const requested = scripts.map(() => 0);
  const provider = await startProvider((response, call) => {
    const [, label = '', ...rest] = call.url.split('/');
    const at = Number(label);
    const script = scripts[at] as Script;
    const turn = requested[at] ?? 0;
    requested[at] = turn + 1;
    const plan = script.plans[turn];
    const path = rest.join('/');
    const api: Api = path.endsWith('messages') ? 'messages' : script.api;
    if (!plan) return void response.writeHead(400).end();
    play(response, api, script.streamed, plan);
  });
  const settings = (api: Api, label: number): ModelRuntimeOptions => ({
    apiKey: 'k',
    baseURL: `${provider.url}/${label}${api === 'messages' ? '' : '/v1'}`,
    // Every call fails on its own account.
    circuit: false,
    ...(api === 'responses' ? { apiMode: 'responses' } : {}),
  });

  const one = async (script: Script, label: number): Promise<Played> => {
    const { api, streamed, plans, fallback } = script;
    const refusals = plans.filter(({ refused: rejected }) => rejected !== undefined).length;
    const plan = plans[refusals] as Plan;
    const runtime = createModelRuntime(api === 'messages' ? 'anthropic' : 'openai', {
      ...settings(api, label),
      maxRetries: refusals,
      timeouts: { idle: plan.end === 'stuck' ? 200 : 20_000, firstByte: 20_000 },
      ...(fallback
        ? {
            fallback: ['anthropic:m'],
            providers: { anthropic: settings('messages', label) },
          }
        : {}),
    });
    const controller = new AbortController();
    const run = runtime.stream(
      { model: 'm', messages: [{ role: 'user', content: textOf(plan) }], stream: streamed },
      { signal: controller.signal },
    );
    await read(run, plan, () => controller.abort()).catch(() => undefined);
    const report = await run.report;
    const problems = checkSum(report);
    const { attempts } = report;
    if (attempts.length !== requested[label]) {
      problems.push(`${attempts.length} attempts booked, ${requested[label]} requests received`);
    }
    const rejected = attempts.slice(0, refusals);
    if (rejected.some(({ usage }) => usage !== undefined)) problems.push('a refusal has tokens');
    const attempt = attempts[refusals];
    if (fallback)
      problems.push(...checkReported(plans.at(-1) as Plan, 'messages', attempts.at(-1)?.usage));
    if (plan.end === 'whole') {
      problems.push(...checkReported(plan, api, attempt?.usage));
      return { problems, kind: plan.end };
    }
    const isWhole = plan.end in reported;
    const text = isWhole ? textOf(plan) : plan.deltas.slice(0, plan.sent).join('');
    const ours = attempt?.usage?.totalOutputTokens ?? 0;
    const real = encode(text).length;
    if (attempt?.usage?.source !== 'estimated')
      problems.push(`the source is ${attempt?.usage?.source}`);
    if ((attempt?.usage?.totalInputTokens ?? 0) <= 0) problems.push('no input was booked');
    return { problems, kind: plan.end, estimated: [ours, real] };
  };

  const played: Played[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let at = next++; at < scripts.length; at = next++) {
      const script = scripts[at] as Script;
      const result = await one(script, at);
      const announced = JSON.stringify({
        ...script,
        plans: script.plans.map(({ end, refused: rejected, sent }) => [rejected, end, sent]),
      });
      played.push({
        ...result,
        problems: result.problems.map((problem) => `run ${at}: ${problem} ${announced}`),
      });
    }
  };
  try {
    await Promise.all(Array.from({ length: 24 }, worker));
  } finally {
    await provider.close();
  }
  return played;
}

const textOf = ({ deltas }: Plan): string => deltas.join('');
