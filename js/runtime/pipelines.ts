// runtime.pipeline(): functions of the host that see the message of a turn before the turn begins.
import type {
  AgentTurn,
  FunctionContext,
  PipelineFunction,
  PipelineOptions,
  PipelineTurn,
} from '../../types/runtime';
import { MillraceError } from '../errors';
import { checkNames } from '../known-names';
import { isRecord } from '../plain-values';
import { shown } from '../shown';
import { checkValues, milliseconds, text } from '../value-checks';
import { logFailure } from '../log-failure';

/** The name of the agent whose runs are answers of pipelines. */
export const pipelineAgent = 'millrace:pipeline';

/** The agent itself: what a pipeline answered is in the context of the run. */
export function replyOf(_turn: AgentTurn, { run }: FunctionContext): string {
  return (run.context as { reply: string }).reply;
}

interface Pipeline {
  name: string;
  run: PipelineFunction;
  order: number;
  description: string;
  timeoutMs: number;
  onError: 'reject' | 'skip';
}

/** What the engine reads; see lib/api/turn_hooks.hpp. */
interface Outcome {
  text?: string;
  notes: string[];
  reply?: string;
  reject?: { code: string; message: string };
  ran: { name: string; did: string[] }[];
}

const usualOrder = 100;
const usualTimeoutMs = 5000;
const usualCode = 'permission_denied';
const owner = 'runtime.pipeline()';

/** The pipelines of one runtime. */
export class Pipelines {
  #pipelines: Pipeline[] = [];

  get count(): number {
    return this.#pipelines.length;
  }

  add(name: string, run: PipelineFunction, options: PipelineOptions): void {
    const isRight = typeof name === 'string' && name !== '' && typeof run === 'function';
    if (!isRight) {
      throw new MillraceError(
        'invalid_argument',
        `${owner} takes a name and a function, not ${shown(name)} and ${shown(run)}.`,
      );
    }
    checkNames(owner, options, ['order', 'description', 'timeoutMs', 'onError']);
    const { order = usualOrder, description = '', onError = 'reject' } = options;
    const { timeoutMs = usualTimeoutMs } = options;
    checkValues(
      owner,
      { order, description, timeoutMs },
      { order: ['a number', Number.isFinite], description: text, timeoutMs: milliseconds },
    );
    if (onError !== 'reject' && onError !== 'skip') {
      throw new MillraceError(
        'invalid_option',
        `${owner}: onError must be 'reject' or 'skip', not ${shown(onError)}.`,
      );
    }
    const others = this.#pipelines.filter((other) => other.name !== name);
    others.push({ name, run, order, description, timeoutMs, onError });
    // The sort keeps the order of those that are equal.
    this.#pipelines = others.sort((a, b) => a.order - b.order);
  }

  /** As probes show them. */
  list(): object[] {
    return this.#pipelines.map(({ name, order, description }) => ({ name, order, description }));
  }

  /** Runs all of them, or those up to the one that answers or rejects. */
  readonly run = async (turn: Omit<PipelineTurn, 'signal'>): Promise<Outcome> => {
    const outcome: Outcome = { notes: [], ran: [] };
    let message = turn;
    for (const pipeline of this.#pipelines) {
      const answer = await resultOf(pipeline, message);
      const did = take(outcome, answer);
      if (answer?.text !== undefined) message = { ...message, text: answer.text };
      outcome.ran.push({ name: pipeline.name, did });
      if (outcome.reject || outcome.reply !== undefined) break;
    }
    return outcome;
  };
}

interface Answer {
  text?: string;
  note?: string;
  reply?: string;
  reject?: { code: string; message: string };
}

function take(outcome: Outcome, answer: Answer | undefined): string[] {
  const { text: changed, note, reply, reject } = answer ?? {};
  if (changed !== undefined) outcome.text = changed;
  if (note !== undefined) outcome.notes.push(note);
  if (reply !== undefined) outcome.reply = reply;
  if (reject !== undefined) outcome.reject = reject;
  return Object.keys(answer ?? {});
}

// Undefined for one that changes nothing, or failed and may be passed over.
async function resultOf(
  pipeline: Pipeline,
  turn: Omit<PipelineTurn, 'signal'>,
): Promise<Answer | undefined> {
  const { name, onError } = pipeline;
  try {
    return answerOf(name, await withinTime(pipeline, turn));
  } catch (error) {
    logFailure(`millrace: the pipeline ${name} failed:`, error);
    if (onError === 'skip') return undefined;
    throw error;
  }
}

async function withinTime(
  { name, run, timeoutMs }: Pipeline,
  turn: Omit<PipelineTurn, 'signal'>,
): Promise<unknown> {
  const ending = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = new MillraceError(
        'timeout',
        `The pipeline ${name} did not end within ${timeoutMs} ms.`,
      );
      ending.abort(error);
      reject(error);
    }, timeoutMs);
  });
  try {
    return await Promise.race([run({ ...turn, signal: ending.signal }), late]);
  } finally {
    clearTimeout(timer);
  }
}

function answerOf(name: string, given: unknown): Answer | undefined {
  if (given === undefined || given === null) return undefined;
  const what = `What the pipeline ${name} gives`;
  if (!isRecord(given)) {
    throw new MillraceError(
      'invalid_argument',
      `${what} must be an object or nothing, not ${shown(given)}.`,
    );
  }
  checkNames(what, given, ['text', 'note', 'reply', 'reject']);
  const { text: changed, note, reply, reject } = given;
  checkValues(what, { text: changed, note, reply }, { text, note: text, reply: text });
  return {
    ...(changed !== undefined && { text: changed as string }),
    ...(note !== undefined && { note: note as string }),
    ...(reply !== undefined && { reply: reply as string }),
    ...(reject !== undefined && { reject: rejectionOf(what, reject) }),
  };
}

function rejectionOf(what: string, given: unknown): { code: string; message: string } {
  if (typeof given === 'string') return { code: usualCode, message: given };
  const { code = usualCode, message } = (given ?? {}) as { code?: unknown; message?: unknown };
  if (typeof code === 'string' && typeof message === 'string' && message !== '') {
    return { code, message };
  }
  throw new MillraceError(
    'invalid_argument',
    `${what}: reject must be a text, or an object with a message, not ${shown(given)}.`,
  );
}
