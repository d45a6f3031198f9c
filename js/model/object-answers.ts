// Answers that are no object: the errors they end in, and what the model is asked for again.
import { MillraceError } from '../errors';
import { shownText } from '../shown';

/** Characters of an answer that an error shows. */
export const shownLength = 512;

/** The error of an answer that is a refusal of the model. */
export function rejectedAnswer(answer: string): MillraceError {
  return new MillraceError(
    'content_filtered',
    `The model refused to answer: ${shownText(answer, shownLength)}`,
    {
      detail: answer.slice(0, shownLength),
    },
  );
}

/** The error of an answer that reached its limit of tokens. */
export function cutAnswer(answer: string): MillraceError {
  return new MillraceError(
    'output_limit_reached',
    'The answer reached the limit of output tokens before the object was complete. Raise `max_tokens`.',
    { detail: answer.slice(0, shownLength) },
  );
}

/** The place that a validator names, as a JSON pointer. */
export function pathOf(path: readonly (PropertyKey | { key: PropertyKey })[] | undefined): string {
  const steps = (path ?? []).map((step) => String(typeof step === 'object' ? step.key : step));
  return steps.length === 0 ? '(the whole value)' : `/${steps.join('/')}`;
}

/** The messages that ask for a whole answer in place of this one. */
export function repairOf(answer: string, problems: string): object[] {
  return [
    { role: 'assistant', content: answer === '' ? '(no answer)' : answer },
    {
      role: 'user',
      content:
        `That answer cannot be used:\n${problems}\n` +
        'Give the whole answer again, corrected, as JSON that follows the schema.',
    },
  ];
}
