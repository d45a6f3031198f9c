// Members of nested parameters that the engine does not know go to the API that was called, at
// their places; where it has no place for them, a note names them.
import { createModelRuntime } from 'millrace';

type Body = Record<string, unknown>;
interface Sent {
  body: Body | undefined;
  notes: string;
}

async function send(provider: string, model: string, more: Body): Promise<Sent> {
  let body: Body | undefined;
  const runtime = createModelRuntime(provider, {
    apiKey: 'k',
    maxRetries: 0,
    fetch: (_url: unknown, init: { body?: unknown }) => {
      body = JSON.parse(Buffer.from(init.body as Uint8Array).toString()) as Body;
      return Promise.resolve(new Response('', { status: 400 }));
    },
  } as never);
  const run = runtime.stream({
    model,
    messages: [{ role: 'user', content: 'Hi' }],
    tools: [{ type: 'function', function: { name: 'f' } }],
    ...more,
  } as never);
  for await (const _ of run) void _;
  const report = await run.report;
  return { body, notes: JSON.stringify(report.notes) };
}

const schema = { type: 'object', properties: {} };

describe('unknown members of nested parameters', () => {
  it('are sent to chat completions', async () => {
    const response_format = {
      type: 'json_schema',
      json_schema: { name: 'n', schema, inner: 1 },
      outer: 2,
    };
    const tool_choice = { type: 'function', function: { name: 'f', inner: 3 }, outer: 4 };
    const { body } = await send('openai', 'gpt-4o', {
      apiMode: 'chat',
      response_format,
      tool_choice,
    });
    expect(body).toMatchObject({ response_format, tool_choice });
  });

  it('are sent to Responses', async () => {
    const text = {
      format: { type: 'json_schema', name: 'n', schema, inner: 1 },
      verbosity: 'low',
      outer: 2,
    };
    const tool_choice = { type: 'function', name: 'f', outer: 3 };
    const { body } = await send('openai', 'gpt-5', { apiMode: 'responses', text, tool_choice });
    expect(body).toMatchObject({ text, tool_choice });
    const alone = await send('openai', 'gpt-5', { apiMode: 'responses', text: { outer: 1 } });
    expect(alone.body).toMatchObject({ text: { outer: 1 } });
  });

  it('are sent with the tools that are allowed', async () => {
    const tool_choice = {
      type: 'allowed_tools',
      mode: 'auto',
      tools: [{ type: 'function', name: 'f', inner: 1 }],
      outer: 2,
    };
    const { body } = await send('openai', 'gpt-5', { apiMode: 'responses', tool_choice });
    expect(body).toMatchObject({ tool_choice });
  });

  it('are sent to Anthropic', async () => {
    const tool_choice = { type: 'auto', disable_parallel_tool_use: true, outer: 1 };
    const { body } = await send('anthropic', 'claude-sonnet-4-5', { tool_choice });
    expect(body).toMatchObject({ tool_choice });
  });

  it('are named where the API has no place for them', async () => {
    const tool_choice = { type: 'function', function: { name: 'f' }, outer: 1 };
    const google = await send('google', 'gemini-2.5-pro', { tool_choice, text: { outer: 2 } });
    expect(google.notes).toContain('tool_choice');
    expect(google.notes).toContain('text');
    const word = await send('openai', 'gpt-4o', {
      apiMode: 'chat',
      tool_choice: { type: 'auto', outer: 1 },
    });
    expect(word.notes).toContain('tool_choice.outer');
  });
});
