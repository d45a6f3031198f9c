// What clients that wait for an answer get when the server stops first.
import { cleanUp, hosts, serve, type Json } from './kit';

afterEach(cleanUp);

describe.each(hosts)('a host that stops: %s', (host) => {
  it('answers a synchronous chat with 503 and the id of its job', async () => {
    let begun = (): void => undefined;
    const works = new Promise<void>((resolve) => (begun = resolve));
    const api = await serve(host, {
      agent: async (_turn, { signal }) => {
        begun();
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
      },
    });
    const sent = api.send('/api/v1/chat', { method: 'POST', json: { message: 'hello' } });
    await works;
    const { job } = await api.json('/api/v1/chat/jobs/active', 200);
    await api.runtime.close({ drainMs: 50 });
    const answer = await sent;
    expect(answer.status).toBe(503);
    const body: Json = await answer.json();
    expect(body).toMatchObject({ code: 'engine_closed', job_id: job.job_id });
    expect(body.error).toContain(`GET /api/v1/chat/jobs/${job.job_id}`);
  });
});
