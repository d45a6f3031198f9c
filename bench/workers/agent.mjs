// Runs an agent of one library again and again in a fresh process; prints the CPU time of one step.
//   node agent.mjs millrace|ai|mastra|langgraph inside|object|<address of a model> <runs> <together>
// Every run has ten steps: nine calls of a tool that does nothing, and an answer. All of them stream. With
// `inside` the library's own client of OpenAI's API is answered at once by a `fetch` of this process, with the bytes
// that everybody reads; with `object` the model is an object, and no byte is read.
import { createRequire } from 'node:module';

import { millracePath } from '../support/packages.mjs';
import { answerTo, steps } from '../support/scripted-answers.mjs';

const [, , who, where, count, at_a_time = '1'] = process.argv;
const question = 'Take ten steps.';
const asObject = where === 'object';
const inside = where === 'inside';
const parameters = {
  type: 'object',
  properties: { value: { type: 'string' } },
  required: ['value'],
};

const makers = {
  async millrace() {
    const { createAgent, tool } = createRequire(import.meta.url)(millracePath);
    const agent = createAgent({
      model: 'openai:scripted',
      provider: { baseURL: where, apiKey: 'k' },
      tools: [tool({ name: 'noop', input: parameters, effect: 'read', run: () => 'done' })],
    });
    return async () => {
      let text = '';
      let last;
      for await (const event of agent.run(question)) {
        if (event.type === 'TEXT_MESSAGE_CONTENT') text += event.delta;
        last = event;
      }
      if (last?.type !== 'RUN_FINISHED')
        throw new Error(`The run ended with ${JSON.stringify(last)}`);
      return text;
    };
  },

  async ai() {
    const { jsonSchema, stepCountIs, streamText, tool } = await import('ai');
    const inputSchema = jsonSchema(parameters);
    const tools = { noop: tool({ inputSchema, execute: () => 'done' }) };
    const model = await languageModel();
    return async () => {
      const stopWhen = stepCountIs(2 * steps);
      const result = streamText({ model, tools, prompt: question, stopWhen });
      let text = '';
      for await (const part of result.toUIMessageStream()) {
        if (part.type === 'text-delta') text += part.delta;
      }
      return text;
    };
  },

  async mastra() {
    const { Agent } = await import('@mastra/core/agent');
    const { createTool } = await import('@mastra/core/tools');
    const { z } = await import('zod');
    const noop = createTool({
      id: 'noop',
      description: 'Does nothing.',
      inputSchema: z.object({ value: z.string() }),
      execute: async () => 'done',
    });
    const model = await languageModel();
    const agent = new Agent({
      id: 'bench',
      name: 'bench',
      instructions: 'Take steps.',
      model,
      tools: { noop },
    });
    return async () => {
      const { fullStream } = await agent.stream(question, { maxSteps: 2 * steps });
      let text = '';
      for await (const part of fullStream) {
        if (part.type === 'text-delta') text += part.payload.text;
      }
      return text;
    };
  },

  async langgraph() {
    const { createReactAgent } = await import('@langchain/langgraph/prebuilt');
    const { tool } = await import('@langchain/core/tools');
    const noop = tool(() => 'done', { name: 'noop', description: '', schema: parameters });
    const agent = createReactAgent({ llm: await chatModel(), tools: [noop] });
    return async () => {
      const messages = [{ role: 'user', content: question }];
      const options = { recursionLimit: 4 * steps, streamMode: 'messages' };
      let text = '';
      for await (const [message] of await agent.stream({ messages }, options)) {
        if (message.getType() === 'ai') text += message.content;
      }
      return text;
    };
  },
};

// The provider of this process.
const encoder = new TextEncoder();
const scriptedFetch = async (_url, { body }) =>
  new Response(encoder.encode(answerTo(body)), {
    headers: { 'content-type': 'text/event-stream' },
  });
const insideAddress = 'http://scripted.invalid/v1';

const callOf = (index) => JSON.stringify({ value: `step ${index}` });

// A model of the AI SDK: Mastra takes it as well.
async function languageModel() {
  if (!asObject) {
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
    const place = inside ? { baseURL: insideAddress, fetch: scriptedFetch } : { baseURL: where };
    return createOpenAICompatible({ name: 'scripted', apiKey: 'k', ...place })('scripted');
  }
  const { MockLanguageModelV3, convertArrayToReadableStream } = await import('ai/test');
  const usage = {
    inputTokens: { total: 10, noCache: 10 },
    outputTokens: { total: 5, text: 5 },
  };
  const answer = ({ prompt }) => {
    const done = prompt.filter(({ role }) => role === 'tool').length;
    const last = done === steps - 1;
    const content = last
      ? { type: 'text', text: 'The end.' }
      : { type: 'tool-call', toolCallId: `c${done}`, toolName: 'noop', input: callOf(done) };
    return { content, reason: { unified: last ? 'stop' : 'tool-calls' } };
  };
  return new MockLanguageModelV3({
    doGenerate: async (options) => {
      const { content, reason } = answer(options);
      return { content: [content], finishReason: reason, usage, warnings: [] };
    },
    doStream: async (options) => {
      const { content, reason } = answer(options);
      const parts =
        content.type === 'text'
          ? [
              { type: 'text-start', id: '1' },
              { type: 'text-delta', id: '1', delta: content.text },
              { type: 'text-end', id: '1' },
            ]
          : [content];
      return {
        stream: convertArrayToReadableStream([
          { type: 'stream-start', warnings: [] },
          ...parts,
          { type: 'finish', finishReason: reason, usage },
        ]),
      };
    },
  });
}

// A chat model of LangChain; the answer of one that is an object comes in one piece.
async function chatModel() {
  if (!asObject) {
    const { ChatOpenAI } = await import('@langchain/openai');
    const place = inside ? { baseURL: insideAddress, fetch: scriptedFetch } : { baseURL: where };
    return new ChatOpenAI({
      model: 'scripted',
      apiKey: 'k',
      streaming: true,
      configuration: place,
    });
  }
  const { BaseChatModel } = await import('@langchain/core/language_models/chat_models');
  const { AIMessageChunk } = await import('@langchain/core/messages');
  const { ChatGenerationChunk } = await import('@langchain/core/outputs');
  class Scripted extends BaseChatModel {
    _llmType() {
      return 'scripted';
    }
    bindTools() {
      return this;
    }
    async *_streamResponseChunks(messages, _options, manager) {
      const done = messages.filter((one) => one.getType() === 'tool').length;
      const last = done === steps - 1;
      const call = { id: `c${done}`, name: 'noop', args: JSON.parse(callOf(done)) };
      const text = last ? 'The end.' : '';
      const message = new AIMessageChunk({
        content: text,
        tool_calls: last ? [] : [call],
        usage_metadata: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
      });
      const chunk = new ChatGenerationChunk({ text, message });
      yield chunk;
      await manager?.handleLLMNewToken(text, undefined, undefined, undefined, undefined, { chunk });
    }
    async _generate(messages, options, manager) {
      for await (const chunk of this._streamResponseChunks(messages, options, manager)) {
        return { generations: [chunk] };
      }
    }
  }
  return new Scripted({});
}

const run = await makers[who]();
const runs = Number(count);
const together = Number(at_a_time);

async function checked() {
  const text = await run();
  if (text !== 'The end.') throw new Error(`${who} answered '${text}'`);
}

async function many(total) {
  for (let i = 0; i < total; i += together) {
    await Promise.all(Array.from({ length: Math.min(together, total - i) }, checked));
  }
}

await many(Math.ceil(runs / 4));
const before = process.cpuUsage();
const started = performance.now();
await many(runs);
const seconds = (performance.now() - started) / 1000;
const { user, system } = process.cpuUsage(before);
const cpu = (user + system) / (runs * steps);
process.stdout.write(`${JSON.stringify({ cpu, stepsPerSecond: (runs * steps) / seconds })}\n`);
process.exit(0);
