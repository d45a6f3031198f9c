// toAGUIResponse, pipeAGUI and foldEvents, and what the real AG-UI clients make of them.
import { HttpAgent } from '@ag-ui/client';
import { HttpAgent as OldHttpAgent } from 'ag-ui-client-0.0';
import { agUIAdapter, foldEvents, openAIAdapter, pipeAGUI, toAGUIResponse } from 'millrace';
import type { AGUIEvent } from '../../../types/events';
import { readEvents } from '../../support/events';
import type { Provider } from '../../support/provider';
import { startProvider, stream } from '../../support/provider';

const chat = [
  'data: {"choices":[{"delta":{"reasoning_content":"Hm."}}]}\n\n',
  'data: {"choices":[{"delta":{"role":"assistant","content":"Hi"}}]}\n\n',
  'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"f","arguments":"{}"}}]}}]}\n\n',
  'data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}\n\n',
  'data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}\n\ndata: [DONE]\n\n',
];
const ids = { threadId: 't', runId: 'r' };

function source(text = chat.join('')): Response {
  return new Response(text);
}

async function types(response: Response): Promise<string[]> {
  return readEvents(await response.text()).map((event) => event.type);
}

describe('toAGUIResponse', () => {
  it('turns a response of a provider into one legal run', async () => {
    const response = toAGUIResponse(source(), { ...ids, adapter: openAIAdapter() });
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    expect(await types(response)).toEqual([
      'RUN_STARTED',
      'REASONING_START',
      'REASONING_MESSAGE_START',
      'REASONING_MESSAGE_CONTENT',
      'REASONING_MESSAGE_END',
      'REASONING_END',
      'TEXT_MESSAGE_START',
      'TEXT_MESSAGE_CONTENT',
      'TEXT_MESSAGE_END',
      'TOOL_CALL_START',
      'TOOL_CALL_ARGS',
      'TOOL_CALL_END',
      'RUN_FINISHED',
    ]);
  });

  it('closes what events leave open, and wraps what they throw', async () => {
    async function* broken(): AsyncGenerator<AGUIEvent> {
      yield { type: 'TEXT_MESSAGE_START', messageId: 'm', role: 'assistant' };
      yield { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'Hi' };
      await Promise.resolve();
      throw new Error('the source broke');
    }
    const list = readEvents(await toAGUIResponse(broken(), ids).text());
    expect(list.map((event) => event.type)).toEqual([
      'RUN_STARTED',
      'TEXT_MESSAGE_START',
      'TEXT_MESSAGE_CONTENT',
      'TEXT_MESSAGE_END',
      'RUN_ERROR',
    ]);
    expect(list.at(-1)).toMatchObject({ message: 'the source broke' });
  });

  it('gives RUN_STARTED before the source has anything, and comments while it is silent', async () => {
    async function* silent(): AsyncGenerator<AGUIEvent> {
      await new Promise((resolve) => setTimeout(resolve, 100));
      yield { type: 'CUSTOM', name: 'x', value: 1 };
    }
    const response = toAGUIResponse(silent(), { ...ids, keepAliveMs: 20 });
    const reader = response.body?.getReader();
    const first = await reader?.read();
    expect(Buffer.from(first?.value ?? []).toString()).toContain('RUN_STARTED');
    let rest = '';
    for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) {
      rest += Buffer.from(part.value).toString();
    }
    expect(rest).toMatch(/^: /m);
    expect(rest).toContain('RUN_FINISHED');
  });

  it('cancels its source when the reader leaves', async () => {
    let left = false;
    async function* endless(): AsyncGenerator<AGUIEvent> {
      try {
        for (;;) {
          yield { type: 'CUSTOM', name: 'x', value: 1 };
          await new Promise((resolve) => setImmediate(resolve));
        }
      } finally {
        left = true;
      }
    }
    const reader = toAGUIResponse(endless(), ids).body?.getReader();
    await reader?.read();
    await reader?.read();
    await reader?.cancel();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(left).toBe(true);
  });

  it('ends with RUN_ERROR when its signal aborts', async () => {
    const controller = new AbortController();
    async function* waiting(): AsyncGenerator<AGUIEvent> {
      yield { type: 'CUSTOM', name: 'x', value: 1 };
      await new Promise(() => undefined);
    }
    const response = toAGUIResponse(waiting(), { ...ids, signal: controller.signal });
    setTimeout(() => {
      controller.abort();
    }, 20);
    const list = readEvents(await response.text());
    expect(list.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'cancelled' });
  });
});

describe('the AG-UI clients', () => {
  let server: Provider;
  beforeAll(async () => {
    server = await startProvider((response, call) => {
      const input = JSON.parse(call.body) as {
        threadId: string;
        runId: string;
        protocolVersion?: string;
      };
      return pipeAGUI(source(), response, { ...input, adapter: openAIAdapter() });
    });
  });
  afterAll(async () => {
    await server.close();
  });

  it.each([
    ['1.0.0', HttpAgent],
    ['0.0.59', OldHttpAgent as unknown as typeof HttpAgent],
  ])('%s accepts what pipeAGUI writes', async (_version, Agent) => {
    const agent = new Agent({ url: server.url, threadId: 't' });
    agent.setMessages([{ id: 'u', role: 'user', content: 'Hello' }]);
    let failure: string | undefined;
    await agent.runAgent(
      {},
      {
        onRunErrorEvent: ({ event }) => {
          failure = event.message;
        },
      },
    );
    expect(failure).toBeUndefined();
    expect(agent.messages).toMatchObject([
      { role: 'user' },
      { role: 'reasoning', content: 'Hm.' },
      {
        role: 'assistant',
        content: 'Hi',
        toolCalls: [{ id: 'c1', function: { name: 'f', arguments: '{}' } }],
      },
    ]);
  });

  it('is read by agUIAdapter as it was written', async () => {
    const upstream = await startProvider(stream(chat));
    const response = toAGUIResponse(await fetch(upstream.url), {
      ...ids,
      adapter: openAIAdapter(),
    });
    const seen: string[] = [];
    for await (const event of agUIAdapter().parse(response)) seen.push(event.type);
    expect(seen.at(0)).toBe('RUN_STARTED');
    expect(seen.at(-1)).toBe('RUN_FINISHED');
    await upstream.close();
  });
});

describe('foldEvents', () => {
  it('folds a list at once and a stream as a promise', async () => {
    const events: AGUIEvent[] = [];
    for await (const event of openAIAdapter().parse(source())) events.push(event);
    const expected = [
      { role: 'reasoning', content: 'Hm.' },
      { role: 'assistant', content: 'Hi' },
    ];
    const folded = foldEvents(events);
    expect(folded.map(({ role }) => role)).toContain('assistant');
    expect(folded.filter(({ role }) => role !== 'tool')).toEqual(
      expect.arrayContaining(
        expected.map((message) => expect.objectContaining(message) as unknown),
      ),
    );
    const streamed = await foldEvents(openAIAdapter().parse(source()));
    expect(streamed.map(({ role }) => role)).toEqual(folded.map(({ role }) => role));
  });
});
