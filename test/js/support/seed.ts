/** The seed of a random test. It is the same each time, so that a result tells of the tree alone; MILLRACE_SEED chooses another. */
export const testSeed = (): number => Number(process.env['MILLRACE_SEED'] ?? 1);
