// What clients keep of an answer that broke off and came again.
import { HttpAgent } from '@ag-ui/client';
import { createAgent, tool } from 'millrace';

import { startModel, type ScriptedModel, type Turn } from '../../support/scripted-model';

let model: ScriptedModel;
afterEach(() => model.close());

async function clientOf(turns: Turn[], calls = false): Promise<HttpAgent> {
  model = await startModel(turns);
  const options = {
    model: 'openai:scripted',
    provider: { baseURL: `${model.url}/v1`, apiKey: 'k' },
    instructions: 'Keep this to yourself.',
    retryAfterFirstToken: true,
  };
  const helper = { name: 'helper', description: 'Helps.', agent: createAgent(options) };
  const look = tool({ name: 'look', description: 'Looks.', run: () => 'seen' });
  const { handler } = createAgent({
    ...options,
    ...(calls ? { agents: [helper] } : { tools: [look] }),
  });
  const fetch = (url: string, init: RequestInit): Promise<Response> =>
    handler(new Request(url, init));
  const client = new HttpAgent({ url: 'http://localhost/', threadId: 't', fetch });
  client.addMessage({ id: 'u1', role: 'user', content: 'Go.' });
  return client;
}

const shown = ({ messages }: HttpAgent): unknown[] =>
  messages.map(({ role, content }) => [role, content]);

describe('the messages of a client', () => {
  const turns: Turn[] = [
    { text: 'I look', calls: [{ id: 'c1', name: 'look', args: {} }] },
    { text: 'Half an', cut: true },
    { text: 'A whole answer' },
  ];
  const whole = [
    ['user', 'Go.'],
    ['assistant', 'I look'],
    ['tool', 'seen'],
    ['assistant', 'A whole answer'],
  ];

  it('are those of the conversation, without what broke off and without instructions', async () => {
    const client = await clientOf(turns);
    await client.runAgent({ context: [{ description: 'page', value: 'home' }] });
    expect(shown(client)).toEqual(whole);
  });

  it('keep the ids that they had before', async () => {
    const client = await clientOf(turns);
    const results: string[] = [];
    await client.runAgent(
      {},
      { onToolCallResultEvent: ({ event }) => void results.push(event.messageId) },
    );
    const ids = client.messages.filter(({ role }) => role === 'tool').map(({ id }) => id);
    expect(ids).toEqual(results);
    expect(ids).toEqual(['result-c1']);
  });

  it('stay where an agent that is called begins its answer anew', async () => {
    const client = await clientOf(
      [
        { text: 'I call', calls: [{ id: 'c1', name: 'helper', args: { task: 'do' } }] },
        ...turns.slice(1),
        { text: 'Done' },
      ],
      true,
    );
    await client.runAgent();
    expect(shown(client)).toEqual(
      expect.arrayContaining([
        ['user', 'Go.'],
        ['assistant', 'Done'],
      ]),
    );
    expect(JSON.stringify(client.messages)).not.toContain('to yourself');
  });
});
