// The callbacks of a chat against the events of its stream: what is written as a part is reported as one, and a
// stopped call has ended and not failed.
import type { ChatCallbacks, ChatFinish } from 'millrace';
import { MillraceError, createModelRuntime } from 'millrace';

import { sse } from '../support/responses';

const messages = [{ role: 'user' as const, content: 'Hi' }];
const headers = { 'content-type': 'text/event-stream' };
const chunk = (delta: object, reason: string | null = null) => ({
  id: 'c1',
  choices: [{ index: 0, delta, finish_reason: reason }],
});
const parts = (...list: object[]) => ({ candidates: [{ content: { parts: list } }] });
const stop = { candidates: [{ content: { parts: [] }, finishReason: 'STOP' }] };
// As Gemini's wire has it.
const reasoning = JSON.parse('{"thought":true}') as object;
const thinking = { text: 'Hm', ...reasoning };
const image = { inlineData: { mimeType: 'image/png', data: 'AAAA' } };

function sending(...records: object[]): typeof fetch {
  return async () => new Response(sse(...records), { headers });
}

type Reported = [string, unknown][];

/** Callbacks for the five kinds of pieces that reach a reader, by the events that they are of. */
function callbacksOf(reported: Reported): ChatCallbacks {
  return {
    onText: (delta) => void reported.push(['text', delta]),
    onThinking: (delta) => void reported.push(['reasoning', delta]),
    onBase64Image: (data) => void reported.push(['base64_image', data.image.data]),
    onContentPart: (part) => void reported.push(['content_part', part]),
    onReasoningPart: (part) => void reported.push(['reasoning_part', part]),
  };
}

const pieces = new Set(['text', 'reasoning', 'base64_image', 'content_part', 'reasoning_part']);

function piecesOf(stream: string): Reported {
  return [...stream.matchAll(/event: (\w+)\ndata: (.*)/g)].flatMap(([, name = '', json = '']) => {
    if (!pieces.has(name)) return [];
    const data = JSON.parse(json) as Record<string, unknown>;
    if (typeof data === 'object') delete data['inReasoning'];
    return [[name, data] as [string, unknown]];
  });
}

describe('the callbacks of pieces', () => {
  it.each<[string, string, string, object[]]>([
    ['a text', 'openai', 'gpt-4o', [chunk({ content: 'Hello' }), chunk({ content: ' you' })]],
    ['reasoning', 'deepseek', 'deepseek-chat', [chunk({ reasoning_content: 'Hm' })]],
    [
      'an image',
      'openrouter',
      'gemini-3-pro-image',
      [chunk({ images: [{ image_url: { url: 'data:image/png;base64,AA' } }] })],
    ],
    ['a text of Gemini', 'google', 'gemini-2.5-pro', [parts({ text: 'A' }), parts({ text: 'B' })]],
    ['an image behind a text', 'google', 'gemini-2.5-pro', [parts({ text: 'A' }, image)]],
    ['reasoning of Gemini', 'google', 'gemini-2.5-pro', [parts(thinking), parts({ text: 'A' })]],
    ['reasoning behind a text', 'google', 'gemini-2.5-pro', [parts({ text: 'A' }, thinking)]],
    ['an image of the reasoning', 'google', 'm', [parts({ ...image, ...reasoning }), parts(image)]],
    ['Gemini 3', 'google', 'gemini-3-pro', [parts({ text: 'A' })]],
    ['a model that draws', 'google', 'gemini-2.5-flash-image', [parts({ text: 'A' }, image)]],
    ['its image alone', 'google', 'gemini-2.5-flash-image', [parts(image)]],
    ['signed words', 'google', 'gemini-2.5-pro', [parts({ text: 'A', thoughtSignature: 'c2ln' })]],
    [
      'reasoning that is counted alone',
      'google',
      'gemini-2.5-pro',
      [{ ...parts({ text: 'A' }), usageMetadata: { thoughtsTokenCount: 3 } }],
    ],
  ])('are those of the events: %s', async (_, provider, model, records) => {
    const reported: Reported = [];
    const end = provider === 'google' ? stop : chunk({}, 'stop');
    const runtime = createModelRuntime(provider, { apiKey: 'k', fetch: sending(...records, end) });
    const options = { protocol: 'lobe' as const, throttleMs: 0, callback: callbacksOf(reported) };
    const response = await runtime.chat({ model, messages, apiMode: 'chatCompletion' }, options);
    const expected = piecesOf(await response.text());
    expect(expected.length).toBeGreaterThan(0);
    expect(reported).toEqual(expected);
  });

  it('get the parts of an answer that nobody takes as parts', async () => {
    const records = [parts(thinking), parts({ text: 'A' }), parts(image), stop];
    const runtime = createModelRuntime('google', { apiKey: 'k', fetch: sending(...records) });
    for (const left of ['onContentPart', 'onReasoningPart'] as const) {
      const reported: Reported = [];
      const { [left]: _, ...callback } = callbacksOf(reported);
      await (await runtime.chat({ model: 'gemini-2.5-pro', messages }, { callback })).text();
      const names = reported.map(([name]) => name);
      expect(names).toEqual(
        left === 'onContentPart'
          ? ['reasoning_part', 'text', 'base64_image']
          : ['reasoning', 'content_part', 'content_part'],
      );
    }
  });

  it('know who answers: a fallback, after a hook of the runtime', async () => {
    const reported: Reported = [];
    const seen: string[] = [];
    const runtime = createModelRuntime('openai', {
      apiKey: 'k',
      maxRetries: 0,
      fallback: ['google:gemini-3-pro'],
      providers: { google: { apiKey: 'g' } },
      handlePayload: (_, call) => void seen.push(call.provider),
      fetch: async (url) => {
        const isGoogle = (url as string).includes('googleapis');
        if (!isGoogle) return Response.json({ error: { message: 'down' } }, { status: 503 });
        return new Response(sse(parts({ text: 'A' }), stop), { headers });
      },
    });
    const callback = callbacksOf(reported);
    await (await runtime.chat({ model: 'gpt-4o', messages }, { callback })).text();
    expect(reported).toEqual([['content_part', { partType: 'text', content: 'A' }]]);
    expect(seen).toEqual(['openai', 'google']);
  });

  it('are the same for an answer in one piece', async () => {
    const reported: Reported = [];
    const answer = { candidates: [{ content: { parts: [{ text: 'A' }] }, finishReason: 'STOP' }] };
    const runtime = createModelRuntime('google', {
      apiKey: 'k',
      fetch: async () => Response.json(answer),
    });
    const payload = {
      model: 'gemini-3-pro',
      messages,
      stream: false,
      responseMode: 'json' as const,
    };
    await runtime.chat(payload, { callback: callbacksOf(reported) });
    expect(reported).toEqual([['content_part', { partType: 'text', content: 'A' }]]);
  });
});

/** An answer that begins and does not go on. */
function hanging(began: () => void): typeof fetch {
  return async () => {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(sse(chunk({ content: 'x' }))));
        setTimeout(began, 20);
      },
    });
    return new Response(body, { headers });
  };
}

describe('a call that is stopped', () => {
  function observed() {
    const ends: [string, unknown][] = [];
    let resolve!: () => void;
    const over = new Promise<void>((done) => (resolve = done));
    const callback: ChatCallbacks = {
      onError: (error) => void ends.push(['error', error]),
      onCompletion: (data) => void ends.push(['completion', data]),
      onFinal: (data) => {
        ends.push(['final', data]);
        resolve();
      },
    };
    return { ends, callback, over };
  }

  function expectStop(ends: [string, unknown][]): void {
    expect(ends.map(([name]) => name)).toEqual(['completion', 'final']);
    for (const [, data] of ends) {
      expect(data).toMatchObject({ text: 'x', finishReason: 'abort' });
      expect((data as ChatFinish).error).toBeUndefined();
    }
  }

  it.each(['lobe', 'ag-ui'] as const)(
    'by its signal is complete, with its text: %s',
    async (protocol) => {
      const stopping = new AbortController();
      const { ends, callback } = observed();
      const fetch = hanging(() => stopping.abort());
      const runtime = createModelRuntime('siliconcloud', { apiKey: 'k', fetch });
      const { signal } = stopping;
      await (await runtime.chat({ model: 'm', messages }, { protocol, signal, callback })).text();
      expectStop(ends);
    },
  );

  it('by who reads it is complete as well', async () => {
    const { ends, callback, over } = observed();
    const runtime = createModelRuntime('siliconcloud', { apiKey: 'k', fetch: hanging(() => {}) });
    const response = await runtime.chat({ model: 'm', messages }, { protocol: 'lobe', callback });
    const reader = response.body!.getReader();
    await reader.read();
    await reader.cancel();
    await over;
    expectStop(ends);
  });

  it('rejects with the reason of the signal where it was to be one completion', async () => {
    const stopping = new AbortController();
    const { ends, callback } = observed();
    const fetch = hanging(() => stopping.abort('enough'));
    const runtime = createModelRuntime('siliconcloud', { apiKey: 'k', fetch });
    const payload = { model: 'm', messages, responseMode: 'json' as const };
    const answer = runtime.chat(payload, { signal: stopping.signal, callback });
    await expect(answer).rejects.toBe('enough');
    expectStop(ends);
  });

  it('is not one that failed', async () => {
    const { ends, callback } = observed();
    const records = [chunk({ content: 'x' }), { error: { message: 'boom', code: 'x' } }];
    const fetch = sending(...records);
    const runtime = createModelRuntime('siliconcloud', { apiKey: 'k', maxRetries: 0, fetch });
    await (await runtime.chat({ model: 'm', messages }, { callback })).text();
    expect(ends.map(([name]) => name)).toEqual(['error', 'final']);
    expect(MillraceError.is(ends[0]?.[1], 'provider_error')).toBe(true);
    expect((ends[1]?.[1] as ChatFinish).finishReason).toBeUndefined();
  });
});
