// Runs alone: it measures the memory of processes whose tools return a hundred megabytes.
import { statSync } from 'node:fs';

import { cleanUp, makeStore, startChild } from '../support/durable-child';
import { startModel } from '../../support/scripted-model';

afterEach(cleanUp);

const call = { calls: [{ id: 'c1', name: 'big', args: {} }] };

interface Happened {
  status: string;
  length: number;
  end: string;
  isStored: boolean;
  /** Of memory, beyond what the process had before. */
  megabytes: number;
  /** Of the requests to the model, and of the store. */
  sizes: number[];
  bytes: number;
}

async function happened(options: object): Promise<Happened> {
  const model = await startModel([call, { text: 'I have read it.' }]);
  const { store } = makeStore();
  try {
    const child = startChild({ store, model: model.url, ...options }, 'large-result-child');
    const [line] = await child.ended();
    const sizes = model.chatBodies.map((body) => JSON.stringify(body).length);
    return { ...(line as Omit<Happened, 'sizes' | 'bytes'>), sizes, bytes: statSync(store).size };
  } finally {
    await model.close();
  }
}

it.each([
  ['a text', false],
  ['an object', true],
])(
  'gives the model an error for a result of 100 MB, %s, in little memory',
  async (_, asObject) => {
    const what = await happened({ megabytes: 100, asObject });
    expect(what).toMatchObject({ status: 'completed', answer: 'I have read it.', isStored: true });
    expect(what.end).toMatch(/The tool big returned 1000000\d\d characters; 67108864 are allowed/);
    expect(Math.max(...what.sizes)).toBeLessThan(4_000);
    expect(what.bytes).toBeLessThan(1 << 20);
    expect(what.megabytes).toBeLessThan(asObject ? 400 : 100);
  },
  60_000,
);

it('cuts a result of 60 MB where its tool has it, and says so', async () => {
  const what = await happened({ megabytes: 60 });
  expect(what).toMatchObject({ status: 'completed', answer: 'I have read it.', isStored: true });
  expect(what.end).toMatch(/\[cut here: \d{8} more bytes\]$/);
  expect(what.length).toBeLessThan(300_000);
  expect(Math.max(...what.sizes)).toBeLessThan(300_000);
  expect(what.bytes).toBeLessThan(8 << 20);
  expect(what.megabytes).toBeLessThan(700);
}, 60_000);
