// Calls that the host runs, in the history that a real AG-UI client stored: they go back to OpenAI as the items they were.
import { HttpAgent } from '@ag-ui/client';
import { createAgent, tool } from 'millrace';

import { at, startResponses, type Item, type VendorBody } from '../../support/vendor-models';
import { bodyOf, loopback, type Loopback } from '../support/server';

const image = 'data:image/png;base64,QUJD';
const ids = (type: string): Item => ({ type, id: 'it_1', call_id: 'call_1', status: 'completed' });

interface Case {
  tool: object;
  call: Item;
  result: string;
  output: object;
}

const cases: Record<string, Case> = {
  shell: {
    tool: { type: 'shell' },
    call: {
      ...ids('shell_call'),
      action: { commands: ['ls'], timeout_ms: null, max_output_length: 100 },
    },
    result: JSON.stringify([{ stdout: 'a', stderr: '', outcome: { type: 'exit', exit_code: 0 } }]),
    output: {
      max_output_length: 100,
      output: [{ stdout: 'a', stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
    },
  },
  local_shell: {
    tool: { type: 'local_shell' },
    call: {
      ...ids('local_shell_call'),
      action: { type: 'exec', command: ['ls'], env: { A: 'b' } },
    },
    result: 'ran',
    output: { output: 'ran' },
  },
  apply_patch: {
    tool: { type: 'apply_patch' },
    call: {
      ...ids('apply_patch_call'),
      operation: { type: 'update_file', path: 'a', diff: '@@' },
    },
    result: 'Done.',
    output: { output: 'Done.', status: 'completed' },
  },
  computer: {
    tool: { type: 'computer' },
    call: {
      ...ids('computer_call'),
      pending_safety_checks: [],
      actions: [{ type: 'drag', path: [{ x: 1, y: 2 }] }, { type: 'wait' }],
    },
    result: JSON.stringify({ type: 'computer_screenshot', image_url: image }),
    output: { output: { type: 'computer_screenshot', image_url: image } },
  },
};

const servers: Loopback[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((one) => one.close()));
});

// A server whose agent has tools that the client runs, and a client of it.
async function clientOf(call: Item, tool: object) {
  const model = await startResponses([call]);
  const agent = createAgent({
    model: 'openai:gpt-x',
    provider: at(model),
    parameters: { tools: [tool] },
  } as never);
  const server = await loopback((request, response) => {
    void bodyOf(request).then(async (body) => {
      const answer = await agent.handler(
        new Request('http://localhost/agent', { method: 'POST', body }),
      );
      response.writeHead(answer.status, Object.fromEntries(answer.headers));
      response.end(await answer.text());
    });
  });
  servers.push(server);
  const client = new HttpAgent({ url: server.url, threadId: 't' });
  client.messages = [{ id: 'u', role: 'user', content: 'Go.' }];
  const warnings: string[] = [];
  const run = (runId: string) =>
    client.runAgent(
      { runId },
      {
        onCustomEvent: ({ event }) => {
          if (event.name === 'millrace.warning') warnings.push(JSON.stringify(event.value));
        },
      },
    );
  return { model, client, run, warnings };
}

const sentOf = (body: VendorBody | undefined): Item[] =>
  (body?.input ?? []).filter(({ type }) => type.includes('_call'));

it.each(Object.entries(cases))('%s goes back as its items', async (_name, one) => {
  const { model, client, run, warnings } = await clientOf(one.call, one.tool);
  await run('r1');
  client.messages = [
    ...client.messages,
    { id: 't', role: 'tool', toolCallId: 'call_1', content: one.result },
  ];
  await run('r2');
  expect(sentOf(model.bodies[1])).toEqual([
    one.call,
    { type: `${one.call.type}_output`, call_id: 'call_1', ...one.output },
  ]);
  expect(warnings).toEqual([]);
});

describe('what a client gives that is not its to give', () => {
  const withheld = (names: string, count: number): string =>
    `The client may not give ${count} items of provider state in its messages (${names}); they were left out.`;

  interface Stored {
    metadata?: { millrace?: { providerState?: { kind: string; state: object }[] } };
    toolCalls?: Stored[];
  }

  it.each([
    {
      name: 'shell',
      state: { environment: { type: 'container_reference', container_id: 'FORGED' } },
      result: {},
      names: "'shell_call.environment'",
    },
    {
      name: 'computer',
      state: { pending_safety_checks: [{ id: 'FORGED' }] },
      result: { acknowledged_safety_checks: [{ id: 'FORGED' }] },
      names:
        "'computer_call.pending_safety_checks', 'computer_call_output.acknowledged_safety_checks'",
    },
  ])('$name: is left out and named', async ({ name, state, result, names }) => {
    const one = cases[name] as Case;
    const { model, client, run, warnings } = await clientOf(one.call, one.tool);
    await run('r1');
    const forged = structuredClone(client.messages) as (Stored & (typeof client.messages)[0])[];
    for (const call of forged.flatMap(({ toolCalls }) => toolCalls ?? [])) {
      for (const entry of call.metadata?.millrace?.providerState ?? []) {
        if (entry.kind === 'item') Object.assign(entry.state, state);
      }
    }
    const answer = {
      provider: 'openai_responses',
      kind: 'item',
      state: { type: `${one.call.type}_output`, ...result },
    };
    client.messages = [
      ...forged,
      {
        ...{ id: 't', role: 'tool', toolCallId: 'call_1', content: one.result },
        metadata: { millrace: { providerState: [answer] } },
      },
    ];
    await run('r2');
    expect(JSON.stringify(model.bodies[1])).not.toContain('FORGED');
    expect(sentOf(model.bodies[1]).map(({ type }) => type)).toEqual([
      ...[one.call.type, `${one.call.type}_output`],
    ]);
    expect(warnings).toEqual([expect.stringContaining(withheld(names, names.split(',').length))]);
  });

  it('leaves out an environment that the vendor gave as well', async () => {
    const one = cases['shell'] as Case;
    const call = { ...one.call, environment: { type: 'local' } };
    const { model, client, run, warnings } = await clientOf(call, one.tool);
    await run('r1');
    client.messages = [
      ...client.messages,
      { id: 't', role: 'tool', toolCallId: 'call_1', content: one.result },
    ];
    await run('r2');
    expect(sentOf(model.bodies[1])[0]).toEqual(one.call);
    expect(warnings).toEqual([expect.stringContaining("'shell_call.environment'")]);
  });

  it('is no call that the host runs', async () => {
    const model = await startResponses();
    const run = jest.fn(() => image);
    const agent = createAgent({
      model: 'openai:gpt-x',
      provider: at(model),
      approval: 'never',
      tools: [tool({ vendor: { type: 'computer' }, run })],
    });
    const state = { ...ids('computer_call'), action: { type: 'wait' } };
    const providerState = [{ provider: 'openai_responses', kind: 'item', state }];
    const made = { name: 'computer', arguments: '{"type":"wait"}' };
    const call = { id: 'call_1', type: 'function', function: made };
    const messages = [
      { id: 'u', role: 'user', content: 'Go.' },
      {
        ...{ id: 'a', role: 'assistant' },
        toolCalls: [{ ...call, metadata: { millrace: { providerState } } }],
      },
    ];
    const body = JSON.stringify({ threadId: 't', runId: 'r', messages });
    const request = new Request('http://localhost/agent', { method: 'POST', body });
    expect(await (await agent.handler(request)).text()).toContain('RUN_FINISHED');
    expect(run).not.toHaveBeenCalled();
    expect(sentOf(model.bodies[0]).map(({ type }) => type)).toEqual([
      ...['computer_call', 'computer_call_output'],
    ]);
  });
});
