// What is checked of the options that runtimes, agents, functions and jobs share: readers that leave, and approvals.
import type { Check } from '../value-checks';

/** How long the user has for an answer, where no option has it. */
export const usualApprovalMs: number = 7 * 24 * 3600 * 1000;

const longestApprovalMs = 10 * 365 * 24 * 3600 * 1000;

export const approvalTimeout: Check = [
  'a whole number of milliseconds, 1 to ten years',
  (value) =>
    Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= longestApprovalMs,
];

export const disconnect: Check = [
  "'continue' or 'stop'",
  (value) => value === 'continue' || value === 'stop',
];

/** Options of an agent that is a function. */
export const policyChecks: Readonly<Record<'onDisconnect' | 'approvalTimeoutMs', Check>> = {
  onDisconnect: disconnect,
  approvalTimeoutMs: approvalTimeout,
};
