// `?busy=queue` of POST /agent: a run that waits for the one at work in its thread.
import { framesOf, readUntil, RecordedServer } from '../../support/recorded-server';
import { startModel } from '../../support/scripted-model';

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

it('lets a run wait for its turn where the request wants it', async () => {
  const model = await startModel([{ text: 'Hello', hang: true }, { text: 'I waited.' }]);
  const server = new RecordedServer(['--model', 'openai:scripted'], {
    OPENAI_BASE_URL: `${model.url}/v1`,
    OPENAI_API_KEY: 'a.test-key',
  });
  open.push(model, server);
  await server.start();
  const send = (runId: string, query = '') =>
    fetch(`${server.url}${query}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        ...{ threadId: 'thread', runId },
        messages: [{ id: runId, role: 'user', content: 'Go.' }],
      }),
    });
  const refusal = async (response: Response) => [
    response.status,
    ((await response.json()) as { error: { code: string } }).error.code,
  ];
  await readUntil(await send('r1'), (text) => text.includes('Hello'));
  expect(await refusal(await send('r2', '?busy=steer'))).toEqual([400, 'invalid_argument']);
  expect(await refusal(await send('r2', '?busy='))).toEqual([400, 'invalid_argument']);
  expect(await refusal(await send('r2', '?busy=reject'))).toEqual([409, 'run_conflict']);

  const waiting = send('r2', '?busy=queue');
  while ((await server.info('r2')).state !== 'queued');
  await fetch(`${server.url}/runs/r1`, { method: 'DELETE' });
  const events = framesOf(await (await waiting).text()).map(({ event }) => event);
  // Pieces that come quickly are recorded as one.
  const pieces = events.filter(({ type }) => type === 'TEXT_MESSAGE_CONTENT');
  expect(pieces.map(({ delta }) => delta as string).join('')).toBe('I waited.');
  expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', runId: 'r2' });
});
