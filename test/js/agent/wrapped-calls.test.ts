// Models of OpenAI write several calls as one of a wrapper that nobody declared: the agent runs the calls in it.
import { createAgent, tool } from 'millrace';

import { at, startResponses, type Item } from '../../support/vendor-models';
import { startModel } from '../../support/scripted-model';

const uses = {
  tool_uses: [
    { recipient_name: 'functions.weather', parameters: { city: 'Ulm' } },
    { recipient_name: 'functions.weather', parameters: { city: 'Rome' } },
  ],
};
const weather = tool({
  name: 'weather',
  description: 'The weather.',
  input: { type: 'object', properties: { city: { type: 'string' } } },
  effect: 'read',
  run: ({ city }) => `Sun in ${String(city)}.`,
});

it('sends the calls and their results back to the Responses API', async () => {
  const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'opaque' };
  const call = {
    ...{ type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'parallel' },
    ...{ arguments: JSON.stringify(uses), status: 'completed' },
  };
  const model = await startResponses([reasoning, call]);
  const provider = { ...at(model), apiMode: 'responses' as const };
  const agent = createAgent({ model: 'openai:gpt-x', provider, tools: [weather] });
  expect(await agent.run('Where is sun?').text()).toBe('done');
  const input = (model.bodies[1]?.input ?? []) as Item[];
  expect(input.slice(1)).toEqual([
    expect.objectContaining({ type: 'reasoning', encrypted_content: 'opaque' }),
    {
      ...{ type: 'function_call', call_id: 'call_1_0', name: 'weather' },
      arguments: '{"city":"Ulm"}',
    },
    {
      ...{ type: 'function_call', call_id: 'call_1_1', name: 'weather' },
      arguments: '{"city":"Rome"}',
    },
    { type: 'function_call_output', call_id: 'call_1_0', output: 'Sun in Ulm.' },
    { type: 'function_call_output', call_id: 'call_1_1', output: 'Sun in Rome.' },
  ]);
});

it('sends them back to chat completions', async () => {
  let messages: unknown[] = [];
  const model = await startModel((body) => {
    messages = body.messages;
    return messages.length > 1
      ? { text: 'Done.' }
      : { calls: [{ id: 'c1', name: 'multi_tool_use.parallel', args: uses }] };
  });
  try {
    const provider = { baseURL: model.url, apiKey: 'k', maxRetries: 0 };
    const agent = createAgent({ model: 'openai:scripted', provider, tools: [weather] });
    expect(await agent.run('Where is sun?').text()).toBe('Done.');
    expect(messages.slice(1)).toMatchObject([
      { role: 'assistant', tool_calls: [{ id: 'c1_0' }, { id: 'c1_1' }] },
      { role: 'tool', tool_call_id: 'c1_0', content: 'Sun in Ulm.' },
      { role: 'tool', tool_call_id: 'c1_1', content: 'Sun in Rome.' },
    ]);
  } finally {
    await model.close();
  }
});
