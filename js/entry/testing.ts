// `millrace/testing`: what a crash leaves of durable runs, for tests of agents and jobs.
export { crashAfter } from '../testing/crash-after';
export type { CrashOptions, CrashReport, ProgramOutput, RecordKind } from '../testing/crash-after';
