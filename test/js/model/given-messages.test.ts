// Messages and payloads as users of other libraries write them.
import { createAgent, createModelRuntime, toAGUIResponse } from 'millrace';

import type { ScriptedModel } from '../../support/scripted-model';
import { startModel } from '../../support/scripted-model';

let model: ScriptedModel;
beforeEach(async () => {
  model = await startModel(() => ({ text: 'answer' }));
});
afterEach(() => model.close());

const provider = () => ({ apiKey: 'k', baseURL: model.url, maxRetries: 0 });
const agentOf = () => createAgent({ model: 'openai:scripted', provider: provider() });
const sent = () => model.asked[0]?.messages;

describe('an agent', () => {
  it('reads messages of the AI SDK', async () => {
    const rows = [{ id: '1', role: 'user', parts: [{ type: 'text', text: 'hello parts' }] }];
    await agentOf()
      .run(rows as never)
      .text();
    expect(JSON.stringify(sent())).toContain('hello parts');
  });

  it('reads rows of OpenAI', async () => {
    const rows = [
      { role: 'user', content: 'x' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c', type: 'function', function: { name: 't', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'c', content: 'r' },
    ];
    await agentOf()
      .run(rows as never)
      .text();
    expect(sent()?.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
  });

  it.each([
    { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
    { type: 'image', image: 'data:image/png;base64,AAAA' },
  ])('shows the model a picture in $type', async (part) => {
    await agentOf()
      .run([{ id: '1', role: 'user', content: [part] }] as never)
      .text();
    expect(JSON.stringify(sent())).toContain('data:image/png;base64,AAAA');
  });

  it.each([
    [{ role: 'user' }, 'messages[0].content is missing'],
    [{ role: 'user', content: [{ type: 'file', data: 'x' }] }, 'messages[0].content[0]'],
    [{ role: 'assistant', content: [{ type: 'tool-call' }] }, '"tool-call"'],
  ])('refuses %j', (row, message) => {
    expect(() => agentOf().run([row] as never)).toThrow(
      expect.objectContaining({
        code: 'invalid_messages',
        message: expect.stringContaining(message),
      }),
    );
    expect(model.asked).toEqual([]);
  });

  it('is told by its own ids', async () => {
    const run = agentOf().run('x', { threadId: 'T', runId: 'R' });
    expect(await toAGUIResponse(run).text()).toContain('"threadId":"T","runId":"R"');
  });
});

describe('a runtime', () => {
  const request = (payload: object) =>
    createModelRuntime('openai', provider()).stream({
      model: 'scripted',
      messages: [{ role: 'user', content: 'x' }],
      ...payload,
    });

  it('names what it left out', async () => {
    const run = request({ maxTokens: 5, safetySettings: [] });
    await run.text();
    const { notes } = await run.report;
    expect(notes).toEqual([
      '`maxTokens`: The member is not sent. It is called `max_tokens`.',
      '`safetySettings`: The member belongs to another API; it is not sent to this one.',
    ]);
  });

  it.each([
    [{ messages: [{ role: 'user' }] }, 'messages[0].content'],
    [{ messages: [{ role: 'user', parts: [] }] }, 'messages[0].content'],
    [{ messages: [{ role: 'user', content: [{ type: 'file', data: 'x' }] }] }, 'file.file_id'],
  ])('refuses %j', (payload, message) => {
    expect(() => request(payload)).toThrow(message);
  });
});
