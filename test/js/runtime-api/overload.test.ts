// What is beyond a limit is answered at once, however busy the server is.
//
// Runs alone: it measures time.
import { cleanUp, Gate, serve } from './kit';

afterEach(cleanUp);

const slow = 64;
const refusals = 200;
const limitMs = 20;

it('refuses 200 requests while slow ones fill the server, most of them within 20 ms', async () => {
  const gate = new Gate();
  const limits = { perMinute: 1 };
  const api = await serve('listen', {
    api: {
      keys: [
        { key: 'busy', principal: 'busy' },
        { key: 'limited', principal: 'limited', limits },
      ],
    },
    agent: () => gate.opened.then(() => 'done'),
  });
  const headers = { 'X-Millrace-API-Key': 'busy' };
  const chats = await Promise.all(
    Array.from({ length: slow }, async () => {
      const made = { method: 'POST', json: {}, headers };
      const { conversation } = await api.json('/api/v1/chat/conversations', 201, made);
      return { message: 'go', conversation_id: conversation.id as string };
    }),
  );
  const answers = chats.map((json) => api.send('/api/v1/chat', { method: 'POST', json, headers }));
  for (;;) {
    const metrics = await (await api.send('/metrics', { headers })).text();
    if (metrics.includes(`\nmillrace_runs_at_work ${slow}\n`)) break;
  }
  const limited = { headers: { 'X-Millrace-API-Key': 'limited' } };
  expect((await api.send('/api/v1/commands', limited)).status).toBe(200);
  const times: number[] = [];
  for (let at = 0; at < refusals; ++at) {
    const begun = performance.now();
    const answer = await api.send('/api/v1/commands', limited);
    await answer.text();
    times.push(performance.now() - begun);
    expect(answer.status).toBe(429);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  }
  times.sort((one, other) => one - other);
  expect(times[refusals / 2]).toBeLessThanOrEqual(limitMs);
  // None of those that were accepted is lost.
  gate.open();
  const statuses = await Promise.all(answers.map(async (answer) => (await answer).status));
  expect(statuses).toEqual(Array.from({ length: slow }, () => 200));
});
