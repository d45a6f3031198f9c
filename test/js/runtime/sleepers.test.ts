// Many runs that sleep in one file: each wakes once, though the process that they began in is killed.
//   MILLRACE_SLEEPERS: how many
import { cleanUp, makeStore, startChild } from '../support/durable-child';

const runs = Number(process.env['MILLRACE_SLEEPERS'] ?? 300);
const most = 1000 * (60 + runs / 100);

afterEach(cleanUp);

it(
  `${runs} jobs that sleep wake once each, in another process`,
  async () => {
    const { store, log, logged } = makeStore();
    // Time for all to begin and to leave the memory, which a job does that sleeps for more than five seconds.
    const due = Date.now() + 15_000 + runs * 4;
    const options = { store, log, runs, due };
    const first = startChild({ ...options, do: 'start' }, 'sleepers-child');
    const asleep = await first.until(({ states, failed }) => states ?? failed);
    expect(asleep).toEqual({ states: { sleeping: runs }, woken: 0 });
    await first.kill();

    const second = await startChild({ ...options, do: 'wake' }, 'sleepers-child').ended();
    expect(second).toEqual([{ states: { completed: runs }, woken: runs }]);
    const lines = logged();
    expect(lines).toHaveLength(2 * runs);
    expect(new Set(lines).size).toBe(2 * runs);
  },
  most,
);
