// What the state of a durable run waits for, as questions to the user, and their answers as decisions.
import type { AgentState, ChatToolPayload, HumanDecision } from '../../types/agent';
import type { ActionOptions, Approval } from '../../types/runtime';
import { MillraceError } from '../errors';
import { messageOf } from '../thrown';

/** One question; its name is the same in each process. */
export interface Question {
  name: string;
  /** Of the call that needs an approval. */
  toolCallId?: string;
  options: ActionOptions;
}

const approvalSchema = {
  type: 'object',
  properties: {
    approved: { type: 'boolean' },
    reason: { type: 'string' },
    editedArgs: { type: 'object' },
  },
  required: ['approved'],
};

function questionOf(name: string, { id, identifier, apiName, arguments: args }: ChatToolPayload) {
  const prompt = `Run ${[identifier, apiName].filter(Boolean).join('.')}(${args})?`;
  return { name, toolCallId: id, options: { kind: 'approval', prompt, schema: approvalSchema } };
}

/**
 * What a state waits for. Questions that were open before keep their names; new ones get that of the step that they
 * are from, as models use ids of calls again.
 */
export function questionsOf(
  state: AgentState,
  before: readonly Question[],
  step: number,
): Question[] {
  if (state.status !== 'waiting_for_human') return [];
  const { pendingToolsCalling = [], pendingHumanPrompt, pendingHumanSelect } = state;
  const questions: Question[] = pendingToolsCalling.map((call) => {
    const known = before.find(({ toolCallId }) => toolCallId === call.id);
    return known ?? questionOf(`${call.id}.${step}`, call);
  });
  const human = pendingHumanPrompt ?? pendingHumanSelect;
  if (!human) return questions;
  const known = before.find(({ toolCallId }) => toolCallId === undefined);
  const { prompt } = human;
  const options: ActionOptions = {
    kind: pendingHumanPrompt ? 'prompt' : 'select',
    ...(prompt !== undefined && { prompt }),
  };
  return [...questions, known ?? { name: `answer.${step}`, options }];
}

/** What an answer, or that there is none, means for the run. */
export function decisionOf(
  { toolCallId }: Question,
  payload: unknown,
  missing?: unknown,
): HumanDecision {
  const given = (payload ?? {}) as Record<string, unknown>;
  const reason = missing === undefined ? given['reason'] : messageOf(missing);
  const why = typeof reason === 'string' && { reason };
  if (typeof given['action'] === 'string') return given as unknown as HumanDecision;
  if (given['stop'] === true) return { action: 'stop', ...why };
  if (toolCallId === undefined) {
    if (missing !== undefined) return { action: 'stop', ...why };
    return { action: 'answer', value: 'value' in given ? given['value'] : payload };
  }
  if (missing !== undefined || given['approved'] !== true) {
    return { action: 'reject_and_continue', toolCallId, ...why };
  }
  const edited = given['editedArgs'] ?? given['editedArguments'];
  return {
    ...{ action: 'approve', toolCallId },
    ...(edited !== undefined && { editedArguments: edited as object }),
  };
}

/** The answers that a decision about a waiting state gives to the questions that are open. */
export function answersFor(
  open: readonly Approval[],
  state: AgentState,
  decision: HumanDecision,
): { approval: string; payload: object }[] {
  const about = (toolCallId: string): Approval[] =>
    open.filter(({ id, runId }) => id.startsWith(`${runId}.${toolCallId}.`));
  const answer = (approvals: Approval[], payload: HumanDecision): object[] =>
    approvals.slice(0, 1).map(({ id }) => ({ approval: id, payload }));
  const calls = state.pendingToolsCalling ?? [];
  const answers =
    decision.action === 'approve_all'
      ? calls.flatMap(({ id }) => answer(about(id), { action: 'approve', toolCallId: id }))
      : 'toolCallId' in decision
        ? answer(about(decision.toolCallId), decision)
        : answer([...open], decision);
  if (answers.length > 0) return answers as { approval: string; payload: object }[];
  throw new MillraceError(
    'approval_mismatch',
    'The run does not wait for what was decided: it was answered before, or belongs to another state.',
  );
}
