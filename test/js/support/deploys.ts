// Programs that change from deploy to deploy, and what must hold of all that they did.
import { readFileSync } from 'node:fs';

import type { Line } from './durable-child';

/** Numbers of a seed: the same ones each time. */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const works = ['agent_a', 'agent_b', 'function_again', 'function_plain', 'job_a', 'job_b'];
const tools = ['read_1', 'idempotent_1', 'keyed_1', 'keyed_2', 'once_1', 'once_2'];
const steps = ['step_1', 'step_2', 'step_3', 'step_4', 'once_1', 'once_2'];
/** An agent of the first deploy alone: nobody can go on with its run. */
export const gone = 'agent_gone';
const renamed = (name: string): string => `${name}_renamed`;

/** What one deploy is made of. */
export interface Plan {
  number: number;
  names: string[];
  tools: string[];
  steps: string[];
  parallel: boolean;
  starts: { name: string; key: string }[];
  reads: Record<string, number>;
  last?: boolean;
}

/** Plans of deploys, each with some names, tools and steps more, less, renamed or elsewhere. */
export class Deploys {
  constructor(private readonly random: () => number) {}

  plan(number: number, reads: Record<string, number>): Plan {
    // Most have each name, some its other spelling, few neither.
    const names = works.flatMap((name) => {
      const at = this.random();
      if (at < 0.1) return [];
      return [at < 0.3 ? renamed(name) : name];
    });
    if (number === 0) names.push(gone);
    const most = Object.keys(reads).length > 25 ? 0 : 4;
    const starts = this.some(names, 0, most).map((name, at) => ({
      name,
      key: `${name} ${number} ${at}`,
    }));
    if (number === 0) starts.unshift({ name: gone, key: 'hang' });
    return {
      ...{ number, starts, reads },
      names: this.some(names, names.length, names.length),
      tools: this.some(tools, 1, tools.length),
      steps: this.some(steps, 1, steps.length),
      parallel: this.random() < 0.3,
    };
  }

  /** The last deploy knows all names but one, so that each other run ends. */
  lastPlan(number: number, reads: Record<string, number>): Plan {
    const names = works.flatMap((name) => [name, renamed(name)]);
    return { number, names, tools, steps, parallel: false, starts: [], reads, last: true };
  }

  // At least and at most so many, in any order.
  private some<T>(list: readonly T[], least: number, most: number): T[] {
    const left = [...list];
    const count = least + Math.floor(this.random() * (most - least + 1));
    const taken: T[] = [];
    while (taken.length < count && left.length > 0) {
      taken.push(...left.splice(Math.floor(this.random() * left.length), 1));
    }
    return taken;
  }
}

/** All lines that the deploys wrote so far. */
export function linesOf(log: string): Line[] {
  const text = readFileSync(log, 'utf8');
  return text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Line);
}

/** Whether nothing follows this event in its run. */
export const isEnd = (event: string): boolean => /^\{"type":"RUN_(FINISHED|ERROR)"/.test(event);

/** How far readers have read each run that has not ended for them. */
export function readsOf(lines: readonly Line[]): Record<string, number> {
  const reads: Record<string, number> = {};
  const ended = new Set<string>();
  for (const { started, run, seq, event } of lines) {
    if (started) reads[started as string] ??= 0;
    if (!run) continue;
    // The last record may have more events, so it is read again.
    reads[run as string] = (seq as number) - 1;
    if (isEnd(event as string)) ended.add(run as string);
  }
  for (const run of ended) delete reads[run];
  return reads;
}

/** Readings that are no exact piece of what the run has in the end. */
export function wrongReadings(
  lines: readonly Line[],
  wholes: Map<string, [number, string][]>,
): string[] {
  const readings = new Map<string, Line[]>();
  for (const line of lines) {
    if (!line['run']) continue;
    const key = `${line['deploy']} ${line['run']}`;
    readings.set(key, [...(readings.get(key) ?? []), line]);
  }
  const wrong: string[] = [];
  for (const [key, reading] of readings) {
    const { run, after } = reading[0] as Line;
    const rest = wholes.get(run as string)?.filter(([seq]) => seq > (after as number)) ?? [];
    const at = reading.findIndex(
      ({ seq, event }, place) => rest[place]?.[0] !== seq || rest[place]?.[1] !== event,
    );
    if (at >= 0) {
      wrong.push(`deploy and run ${key}: ${JSON.stringify(reading[at])}, not ${String(rest[at])}`);
    }
  }
  return wrong;
}

/** Tools and steps that ran again though they must not, and steps whose result changed. */
export function wrongEffects(lines: readonly Line[]): string[] {
  const begun = new Set<string>();
  const finished = new Map<string, unknown>();
  const wrong: string[] = [];
  for (const { began, effect, finished: key, value, run, event } of lines) {
    if (began) {
      if (finished.has(began as string)) wrong.push(`${began} ran again after its end`);
      // A read begins before its answer is stored, which the model may give anew, with another tool for the same id.
      if (effect !== 'once') continue;
      if (begun.has(began as string)) wrong.push(`${began} ran twice`);
      begun.add(began as string);
    } else if (key) {
      const known = finished.get(key as string) ?? value;
      if (known !== value) wrong.push(`${key} gave ${String(known)}, then ${String(value)}`);
      finished.set(key as string, value);
    } else if (run && (event as string).startsWith('{"type":"TOOL_CALL_RESULT"')) {
      const { toolCallId } = JSON.parse(event as string) as Line;
      finished.set(`${run} ${toolCallId}`, true);
    }
  }
  return wrong;
}
