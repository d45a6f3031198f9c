// Tools that vendors define in recorded runs: what waits, what is acknowledged, what a plan is.
import { createRuntime, tool } from 'millrace';

import { at, startResponses, type Item } from '../../support/vendor-models';

const image = 'data:image/png;base64,QUJD';
const checks = [{ id: 'sc_1', code: 'irrelevant_domain', message: 'Look twice.' }];
const click: Item = {
  type: 'computer_call',
  id: 'cu_1',
  call_id: 'call_1',
  status: 'completed',
  action: { type: 'click', x: 1, y: 2, button: 'left' },
  pending_safety_checks: checks,
};

it('a call with safety checks waits in the store, and its result is acknowledged behind it', async () => {
  const model = await startResponses([click], [{ ...click, id: 'cu_2', call_id: 'call_2' }]);
  const runtime = createRuntime({ storage: 'memory' });
  const ran: unknown[] = [];
  const agent = runtime.agent('clicker', {
    model: 'openai:gpt-x',
    provider: at(model),
    approval: 'never',
    tools: [
      tool({
        vendor: { type: 'computer_use_preview', environment: 'browser' },
        run: (input) => {
          ran.push(input);
          return { type: 'computer_screenshot', image_url: image };
        },
      }),
    ],
  });
  const first = agent.run('Click twice.', { threadId: 't' });
  expect((await first.result).status).toBe('interrupted');
  const [open] = await runtime.approvals.list();
  expect(open).toMatchObject({
    toolCallId: 'call_1',
    interrupt: { metadata: { pendingSafetyChecks: checks } },
  });
  expect(ran).toEqual([]);
  const second = await first.resume(true);
  const { status, interrupts } = await second.result;
  expect(status).toBe('interrupted');
  expect(interrupts).toMatchObject([{ metadata: { pendingSafetyChecks: checks } }]);
  const third = await second.resume({ approved: false });
  expect(await third.text()).toBe('done');
  expect(ran).toHaveLength(1);
  const outputs = model.bodies[2]?.input.filter(({ type }) => type === 'computer_call_output');
  const output = { type: 'computer_screenshot', image_url: image };
  expect(outputs?.[0]).toEqual({
    type: 'computer_call_output',
    call_id: 'call_1',
    acknowledged_safety_checks: checks,
    output,
  });
  expect(outputs?.[1]).toMatchObject({ call_id: 'call_2' });
  expect(outputs?.[1]).not.toHaveProperty('acknowledged_safety_checks');
  await runtime.close();
});
