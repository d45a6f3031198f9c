// Ways to read one answer of the provider: each is an async function of { url, agent, words, onEvent } that gives a
// function which reads one answer whole and returns how much text it held (or how many bytes it gave, where text is not
// seen). `words` say what is answered, onEvent is called with each piece of text.
import http from 'node:http';

import { converterReader, floorReader } from './floor.mjs';
import { importMillrace } from './packages.mjs';

const messages = [{ id: 'm1', role: 'user', content: '[replay]' }];
const body = JSON.stringify({ model: 'example', stream: true, messages });
const nothing = () => {};

function post({ url, agent, words = '[replay]' }, onBytes) {
  const body = JSON.stringify({
    model: 'example',
    stream: true,
    messages: [{ role: 'user', content: words }],
  });
  return new Promise((resolve, reject) => {
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    };
    const request = http.request(`${url}/chat/completions`, { method: 'POST', agent, headers });
    request.on('error', reject);
    request.on('response', (response) => {
      response.on('data', onBytes).on('end', resolve).on('error', reject);
    });
    request.end(body);
  });
}

async function modelRuntime(baseURL) {
  const { createModelRuntime } = await importMillrace();
  return createModelRuntime('openai', { apiKey: 'none', baseURL, apiMode: 'chat' });
}

async function drain(stream, onBytes = nothing) {
  let bytes = 0;
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return bytes;
    bytes += value.length;
    onBytes('');
  }
}

export const clients = {
  // http.request, eventsource-parser and JSON.parse: the records are read and dropped.
  floor: async (to) => async () => {
    let letters = 0;
    const reader = floorReader('openai_chat', (record) => {
      const text = record.choices[0]?.delta.content ?? '';
      letters += text.length;
      if (text !== '') to.onEvent?.(text);
    });
    await post(to, (bytes) => reader.feed(bytes));
    return letters;
  },

  // The floor and a hand-written mapping to AG-UI frames.
  converter: async (to) => async () => {
    let bytes = 0;
    const reader = converterReader('openai_chat', (text) => (bytes += text.length));
    await post(to, (chunk) => reader.feed(chunk));
    return bytes;
  },

  // fetch, OpenUI's adapter and AG-UI's encoder.
  openui: async ({ url }) => {
    const { openAIAdapter } = await import('@openuidev/react-headless');
    const { EventEncoder } = await import('@ag-ui/encoder');
    const encoder = new EventEncoder();
    return async () => {
      const response = await fetch(`${url}/chat/completions`, { method: 'POST', body });
      let bytes = 0;
      for await (const event of openAIAdapter().parse(response))
        bytes += encoder.encodeSSE(event).length;
      return bytes;
    };
  },

  // The provider's own SDK.
  openai: async ({ url, words = '[replay]', onEvent = nothing }) => {
    const { default: OpenAI } = await import('openai');
    const client = new OpenAI({ apiKey: 'none', baseURL: url });
    return async () => {
      let letters = 0;
      const stream = await client.chat.completions.create({
        model: 'example',
        stream: true,
        messages: [{ role: 'user', content: words }],
      });
      for await (const chunk of stream) {
        const text = chunk.choices[0]?.delta.content ?? '';
        letters += text.length;
        if (text !== '') onEvent(text);
      }
      return letters;
    };
  },

  // AI SDK, the parts of its full stream.
  aiParts: async ({ url, words = '[replay]', onEvent = nothing }) => {
    const { streamText } = await import('ai');
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
    const model = createOpenAICompatible({ name: 'mock', baseURL: url, apiKey: 'none' })('example');
    return async () => {
      let letters = 0;
      for await (const part of streamText({ model, prompt: words }).fullStream) {
        if (part.type === 'error') throw part.error;
        if (part.type !== 'text-delta') continue;
        letters += part.text.length;
        onEvent(part.text);
      }
      return letters;
    };
  },

  // The model runtime: the events of a run.
  millraceRun: async ({ url, words = '[replay]', onEvent = nothing }) => {
    const runtime = await modelRuntime(url);
    return async () => {
      let letters = 0;
      const payload = { model: 'example', messages: [{ role: 'user', content: words }] };
      for await (const event of runtime.stream(payload)) {
        if (event.type === 'RUN_ERROR') throw new Error(event.message);
        if (event.type !== 'TEXT_MESSAGE_CONTENT') continue;
        letters += event.delta.length;
        onEvent(event.delta);
      }
      return letters;
    };
  },

  // The model runtime: finished AG-UI bytes.
  millraceChat: async ({ url, words = '[replay]', onEvent = nothing }) => {
    const runtime = await modelRuntime(url);
    return async () => {
      const payload = { model: 'example', messages: [{ role: 'user', content: words }] };
      return drain((await runtime.chat(payload)).body, onEvent);
    };
  },

  // AI SDK to the bytes of its own UI message stream.
  ai: async ({ url }) => {
    const { streamText } = await import('ai');
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
    const model = createOpenAICompatible({ name: 'mock', baseURL: url, apiKey: 'none' })('example');
    return async () => {
      const result = streamText({ model, prompt: '[replay]' });
      return drain(result.toUIMessageStreamResponse().body);
    };
  },

  // The engine's transport and encoder: finished AG-UI bytes arrive.
  millraceBytes: async ({ url }) => {
    const { fetchLLM, openAIAdapter, toAGUIResponse } = await importMillrace();
    const adapter = openAIAdapter();
    const llm = fetchLLM({ url: `${url}/chat/completions`, streamAdapter: adapter });
    return async () => {
      const { signal } = new AbortController();
      const response = await llm.send({ threadId: 't', messages, signal });
      return drain(toAGUIResponse(response, { adapter, threadId: 't', runId: 'r' }).body);
    };
  },

  // An agent's run as the handler of a server gives it: finished AG-UI bytes arrive.
  millraceAgent: async ({ url }) => {
    const { createAgent } = await importMillrace();
    const agent = createAgent({ model: 'openai:m', provider: { baseURL: url, apiKey: 'k' } });
    const body = JSON.stringify({ threadId: 't', runId: 'r', messages });
    return async () => {
      const request = new Request('http://localhost/agent', { method: 'POST', body });
      const response = await agent.handler(request);
      return drain(response.body);
    };
  },

  // The engine's transport; event objects arrive.
  millraceObjects: async ({ url }) => {
    const { fetchLLM, openAIAdapter } = await importMillrace();
    const adapter = openAIAdapter();
    const llm = fetchLLM({ url: `${url}/chat/completions`, streamAdapter: adapter });
    return async () => {
      const { signal } = new AbortController();
      let letters = 0;
      for await (const event of adapter.parse(
        await llm.send({ threadId: 't', messages, signal }),
      )) {
        if (event.type === 'TEXT_MESSAGE_CONTENT') letters += event.delta.length;
      }
      return letters;
    };
  },
};
