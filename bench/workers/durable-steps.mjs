// Many runs in parallel, each of so many steps that do nothing, in a file whose commits reach the disk: `who` names the library.
// Reports steps a second.
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

import { millracePath } from '../support/packages.mjs';
import { scratch } from '../support/paths.mjs';
import { options, report } from '../support/worker.mjs';

const { who, runs, steps } = options;
const folder = mkdtempSync(join(scratch, 'steps-'));
const file = join(folder, `${who}.db`);

// Each gives a function that makes one run, and ends with the number of its steps.
const makers = {
  millrace: async () => {
    const { createRuntime } = createRequire(import.meta.url)(millracePath);
    const runtime = createRuntime({ storage: `file:${file}` });
    const job = runtime.job('steps', async (self) => {
      let done = 0;
      while (done < steps) done = await self.step('step', () => done + 1);
      return done;
    });
    return async () => (await job.run(null)).value ?? steps;
  },

  langgraph: async () => {
    const { Annotation, END, START, StateGraph } = await import('@langchain/langgraph');
    const { SqliteSaver } = await import('@langchain/langgraph-checkpoint-sqlite');
    const { openDatabase } = await import('../support/better-sqlite.mjs');
    const graph = new StateGraph(Annotation.Root({ done: Annotation() }))
      .addNode('step', ({ done }) => ({ done: done + 1 }))
      .addEdge(START, 'step')
      .addConditionalEdges('step', ({ done }) => (done < steps ? 'step' : END))
      .compile({ checkpointer: new SqliteSaver(openDatabase(file)) });
    return async (n) => {
      const more = { recursionLimit: 2 * steps, durability: 'sync' };
      return (await graph.invoke({ done: 0 }, { configurable: { thread_id: `t${n}` }, ...more }))
        .done;
    };
  },

  mastra: async () => {
    const { Mastra } = await import('@mastra/core');
    const { createStep, createWorkflow } = await import('@mastra/core/workflows');
    const { z } = await import('zod');
    const { fullySyncedStore } = await import('../support/mastra-store.mjs');
    const schema = z.object({ done: z.number() });
    let workflow = createWorkflow({ id: 'steps', inputSchema: schema, outputSchema: schema });
    for (let n = 0; n < steps; n++) {
      workflow = workflow.then(
        createStep({
          ...{ id: `step${n}`, inputSchema: schema, outputSchema: schema },
          execute: async ({ inputData }) => ({ done: inputData.done + 1 }),
        }),
      );
    }
    workflow.commit();
    const storage = await fullySyncedStore(file);
    const mastra = new Mastra({ workflows: { steps: workflow }, storage, logger: false });
    return async () => {
      const run = await mastra.getWorkflow('steps').createRun();
      const { status, result, error } = await run.start({ inputData: { done: 0 } });
      if (status !== 'success') throw error ?? new Error(status);
      return result.done;
    };
  },
};

async function all(run, count, from) {
  const done = await Promise.all(Array.from({ length: count }, (_, n) => run(from + n)));
  const wrong = done.find((taken) => taken !== steps);
  if (wrong !== undefined) throw new Error(`a run of ${wrong} steps, not ${steps}`);
}

try {
  const run = await makers[who]();
  // Compiled before it is measured.
  await all(run, 20, 0);
  const begun = performance.now();
  await all(run, runs, 20);
  report({ perSecond: (runs * steps) / ((performance.now() - begun) / 1000) });
} finally {
  rmSync(folder, { recursive: true, force: true });
}
