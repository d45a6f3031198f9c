// What the tests of createAgent share: an agent of a scripted model, its events, two tools.
import type { AGUIEvent } from 'millrace';
import { createAgent, tool } from 'millrace';
import type { ScriptedModel, Turn } from './scripted-model';
import { startModel as startScripted } from './scripted-model';

export let model: ScriptedModel;

export const models: ScriptedModel[] = [];

export async function startModel(
  script: Parameters<typeof startScripted>[0],
): Promise<ScriptedModel> {
  const started = await startScripted(script);
  models.push(started);
  return started;
}

// Makes the model that `model` names from now on.
export async function useModel(
  script: Parameters<typeof startScripted>[0],
): Promise<ScriptedModel> {
  model = await startModel(script);
  return model;
}

afterEach(async () => {
  await Promise.all(models.splice(0).map((one) => one.close()));
});

export async function agentOf(
  script: Parameters<typeof startModel>[0],
  options: Partial<Parameters<typeof createAgent>[0]> = {},
) {
  await useModel(script);
  return createAgent({
    model: 'openai:scripted',
    provider: { baseURL: model.url, apiKey: 'k', maxRetries: 0 },
    ...options,
  });
}

export async function eventsOf(run: AsyncIterable<AGUIEvent>): Promise<AGUIEvent[]> {
  const events: AGUIEvent[] = [];
  for await (const event of run) events.push(event);
  return events;
}

// Without the pieces of texts and what the model's adapter tells besides.
export const typesOf = (events: AGUIEvent[]): string[] =>
  events
    .filter(({ type }) => type !== 'TEXT_MESSAGE_CONTENT')
    .filter((event) => event.type !== 'CUSTOM' || event.name === 'millrace.run_usage')
    .map(({ type }) => type);

export const resultsOf = (events: AGUIEvent[]): unknown[] =>
  events.flatMap((event) => (event.type === 'TOOL_CALL_RESULT' ? [event.content] : []));

export const add = tool<{ a: number; b: number }>({
  name: 'add',
  description: 'Adds two numbers.',
  input: {
    type: 'object',
    properties: { a: { type: 'number' }, b: { type: 'number' } },
    required: ['a', 'b'],
  },
  effect: 'read',
  run: ({ a, b }) => a + b,
});

export const call = (name: string, args: unknown = {}, id = 'c1'): Turn => ({
  calls: [{ id, name, args }],
});

export const mail = (sent: string[], more: object = {}) =>
  tool<{ to: string }>({
    name: 'send_mail',
    input: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
    approval: true,
    run: ({ to }) => {
      sent.push(to);
      return `sent to ${to}`;
    },
    ...more,
  });
