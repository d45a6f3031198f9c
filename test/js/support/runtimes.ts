// Runtimes of tests, closed behind each test.
import { createRuntime, type Runtime } from 'millrace';

import { cleanUp } from './durable-child';

const runtimes: Runtime[] = [];
afterEach(async () => {
  await Promise.all(runtimes.splice(0).map((one) => one.close()));
  await cleanUp();
});

/** A runtime in memory, unless the options name another storage. */
export function runtimeOf(options: Partial<Parameters<typeof createRuntime>[0]> = {}): Runtime {
  const runtime = createRuntime({ storage: 'memory', ...options });
  runtimes.push(runtime);
  return runtime;
}
