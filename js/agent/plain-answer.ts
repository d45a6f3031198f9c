// Answers of the routes of agents that are no runs.
import type { ErrorCode } from '../../types/errors';
import { errorStatuses } from '../error-statuses';
import { errorFixes } from '../error-types';
import type { PlainAnswer } from './route-types';

/** What was wrong with a request, and what to do about it. */
export function plainAnswer(
  code: ErrorCode,
  message: string,
  status: number = errorStatuses[code],
): PlainAnswer {
  return { status, body: { error: { code, message, fix: errorFixes[code] } } };
}

/** For a method that a route does not have. */
export function wrongMethod(methods: readonly string[]): PlainAnswer {
  const answer = plainAnswer('method_not_allowed', `Send a ${methods.join(' or ')} request.`);
  return { ...answer, headers: { Allow: methods.join(', ') } };
}
