// Decisions about the questions of a run, as the entries that resume it.
import type { AgentDecision } from '../../types/agent-run';
import type { Interrupt, ResumeEntry } from '../../types/events';
import { MillraceError } from '../errors';
import { meantBy } from '../known-names';
import { shown, shownText } from '../shown';

/** Answers to all questions of a run, or by the id of a question or of its call. */
export type AgentDecisions = boolean | AgentDecision | Record<string, boolean | AgentDecision>;

/** Throws for what is neither a decision nor several. */
export function checkDecisions(decisions: unknown): void {
  if (typeof decisions === 'boolean' || (typeof decisions === 'object' && decisions !== null))
    return;
  throw new MillraceError(
    'invalid_argument',
    `resume() takes true, false, a decision, or decisions by the id of an interrupt or call, not ${shown(decisions)}.`,
  );
}

/** The resume entries of an answer; throws for one that answers nothing. */
export function answersOf(
  interrupts: readonly Interrupt[],
  decisions: AgentDecisions | ResumeEntry[],
): ResumeEntry[] {
  if (!Array.isArray(decisions)) return entriesOf(interrupts, decisions);
  if (decisions.length > 0) return decisions;
  throw noAnswer('The list of answers is empty', interrupts);
}

// For the questions of a run that are answered.
function entriesOf(interrupts: readonly Interrupt[], decisions: AgentDecisions): ResumeEntry[] {
  const entries: ResumeEntry[] = [];
  for (const { id, toolCallId } of interrupts) {
    const decision = decisionFor(decisions, [id, toolCallId]);
    if (decision === undefined) continue;
    const payload = typeof decision === 'boolean' ? { approved: decision } : decision;
    entries.push({ interruptId: id, status: 'resolved', payload });
  }
  if (entries.length > 0) return entries;
  throw noAnswer(mistakeIn(decisions), interrupts);
}

// What is wrong with decisions that answer nothing.
function mistakeIn(decisions: AgentDecisions): string {
  const names = Object.keys(decisions);
  const half = names.find((name) => details.has(name));
  if (half !== undefined) {
    return `\`${half}\` alone is not a decision; give { approved: true, editedArgs } or { approved: false, reason }`;
  }
  const misspelt = names.find((name) => meantBy(name, decisive) !== undefined);
  if (names.length === 0) return 'No decision was given';
  return misspelt === undefined
    ? `The answers to ${names.map((name) => shownText(name)).join(', ')} match no pending interrupt`
    : `\`${misspelt}\` is not a decision. The answer to an approval needs \`approved\`: true or false`;
}

// The error of an answer that answers nothing.
function noAnswer(reason: string, interrupts: readonly Interrupt[]): MillraceError {
  const open = interrupts.map(({ id, toolCallId }) => toolCallId ?? id).join(', ');
  return new MillraceError(
    'invalid_argument',
    open === ''
      ? 'The run has no pending interrupt, so there is nothing to answer.'
      : `${reason}; pending are: ${open}.`,
  );
}

// What goes with a decision.
const details = new Set(['editedArgs', 'editedArguments', 'reason']);

const decisive = ['approved', 'value', 'stop'];

function isDecision(given: unknown): given is boolean | AgentDecision {
  if (typeof given === 'boolean') return true;
  if (typeof given !== 'object' || given === null) return false;
  return decisive.some((name) => name in given && typeof (given as never)[name] !== 'object');
}

function decisionFor(
  decisions: AgentDecisions,
  names: readonly (string | undefined)[],
): boolean | AgentDecision | undefined {
  if (isDecision(decisions) || 'value' in decisions) return decisions;
  for (const name of names) {
    const decision = name === undefined ? undefined : decisions[name];
    if (decision !== undefined && decision !== null) return decision;
  }
  return undefined;
}
