// The ledger of a durable step: what the runner, a model, a tool or an executor gave is recorded, and given again when
// a process that came later takes the step from its beginning.
import type { AgentInstruction, ModelChunk } from '../../types/agent';
import { type ActionFailure, actionFailure, RecordedFailure } from './action-failure';
import { jobInternals, type OwnJobContext } from './durable-jobs';
import { type Outcome, outcomeOf } from './outcome';
import type { ActionHandler, ActionTools } from './step-driver';
import type { ToolAction } from './tool-call';

type Effect = 'once' | 'keyed' | 'idempotent' | 'read';

const effects: readonly string[] = ['keyed', 'idempotent', 'read'] satisfies Effect[];

/** The handlers of a step with a ledger around those that have an effect; `place` is the step's name in the ledger. */
export function ledgeredHandlers(
  handlers: Record<string, ActionHandler>,
  job: OwnJobContext,
  place: string,
): Record<string, ActionHandler> {
  const { later } = job[jobInternals];
  // What was decided is stored before what follows from it begins; what came of that, with the end of the step.
  const once = async (
    kind: 'executor' | 'sub_agent' | 'tool',
    name: string,
    effect: Effect,
    work: () => unknown,
  ): Promise<unknown> =>
    resultOf(await later(`${place}.${name}`, () => outcomeOf(work, failureIn(kind)), effect));
  return {
    ...handlers,
    runner: async (payload: never, tools: ActionTools) =>
      resultOf(
        await job.step(`${place}.runner`, () =>
          outcomeOf(() => handlers['runner']?.(payload, tools)),
        ),
      ),
    executor: (payload: { instruction: AgentInstruction }, tools) =>
      once('executor', `executor.${payload.instruction.type}`, 'once', () =>
        handlers['executor']?.(payload as never, tools),
      ),
    tool: (payload: ToolAction, tools) => {
      const { effect = 'once', name, toolCall, retry } = payload;
      const known = effects.includes(effect) ? (effect as Effect) : 'once';
      return once('tool', `tool.${name}.${toolCall.id}${attemptOf(retry)}`, known, () =>
        handlers['tool']?.(payload as never, tools),
      );
    },
    sub_agent: (payload: never, tools) =>
      once('sub_agent', 'sub_agent', 'once', () => handlers['sub_agent']?.(payload, tools)),
    model: async (payload: { retry?: number }, tools) => {
      let isLive = false;
      const name = `${place}.model${attemptOf(payload.retry)}`;
      const { chunks, ...outcome } = await later(name, async () => {
        isLive = true;
        const pieces = new Pieces();
        const progress = (chunk: unknown): void => {
          pieces.add(chunk as ModelChunk);
          tools.progress(chunk);
        };
        const ask = (): unknown => handlers['model']?.(payload as never, { ...tools, progress });
        const end = await outcomeOf(ask, failureIn('model'));
        return { ...end, chunks: pieces.all };
      });
      if (!isLive) chunks.forEach(tools.progress);
      resultOf(outcome);
    },
  };
}

const attemptOf = (retry: number | undefined): string =>
  retry === undefined ? '' : `.retry${retry}`;

const failureIn =
  (kind: string) =>
  (thrown: unknown): ActionFailure =>
    actionFailure(kind, thrown);

function resultOf<T>({ value, error }: Outcome<T>): T {
  if (error) throw new RecordedFailure(error);
  return value as T;
}

// The pieces of a model's answer; those that hold nothing but text are joined.
class Pieces {
  readonly all: ModelChunk[] = [];

  add(chunk: ModelChunk | undefined): void {
    if (chunk === undefined) return;
    const last = this.all.at(-1);
    const member = pureText(chunk);
    if (!last || member === undefined || pureText(last) !== member) {
      this.all.push(member === undefined ? chunk : { ...chunk });
      return;
    }
    last[member] = `${String(last[member])}${String(chunk[member])}`;
  }
}

function pureText(chunk: ModelChunk): 'content' | 'reasoning' | undefined {
  const names = Object.keys(chunk);
  const [name] = names;
  if (names.length !== 1 || (name !== 'content' && name !== 'reasoning')) return undefined;
  return typeof chunk[name] === 'string' ? name : undefined;
}
