// Types as users of TypeScript meet them, under exactOptionalPropertyTypes. The compiler checks this
// file; running it shows only that what is declared is there.
import type * as agui from '@ag-ui/core';
import {
  AgentRuntime,
  builtinTools,
  createAgent,
  createMCPClient,
  createModelRuntime,
  fetchLLM,
  fetchSSE,
  agUIAdapter,
  langGraphAdapter,
  openAIResponsesAdapter,
  openaiCompatibleFactory,
  openApiTools,
  pluginTools,
  toAGUIResponse,
  tool,
} from 'millrace';
import type {
  AGUIEvent,
  AgentResult,
  ApplyPatchOutput,
  Cost,
  CostLimit,
  EngineAgent,
  HostTool,
  MCPClient,
  MillraceError,
  MillraceEvent,
  ModelId,
  ModelRuntime,
  RunAgentInput,
  Runtime,
  Usage,
  VendorToolDefinition,
  imageTool,
} from 'millrace';
import * as v from 'valibot';
import { z } from 'zod';

// Stands for a value of the type; never looked at.
const value = <T>(): T => undefined as T;
const maybe = value<string | undefined>();

// Is never called.
const compiled = (check: () => unknown): void => expect(typeof check).toBe('function');

type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

describe('types', () => {
  it("of a tool's arguments come from its JSON Schema", () => {
    const object = { type: 'object' } as const;
    compiled(() => [
      tool({
        name: 'send',
        input: {
          type: 'object',
          properties: {
            to: { type: 'string' },
            mark: { enum: ['a', 'b'] },
            count: { type: ['integer', 'null'] },
            tags: { type: 'array', items: { type: 'string' } },
            place: { type: 'object', properties: { x: { type: 'number' } }, required: ['x'] },
            prices: { type: 'object', additionalProperties: { type: 'number' } },
            other: { anyOf: [{ type: 'boolean' }, { const: 1 }] },
            unread: { $ref: '#/$defs/x' },
          },
          required: ['to', 'mark', 'place'],
        },
        run: (input) => {
          interface Wanted {
            to: string;
            mark: 'a' | 'b';
            place: { x: number };
            count?: number | null;
            tags?: string[];
            prices?: Record<string, number>;
            other?: boolean | 1;
            unread?: unknown;
          }
          const is: Equal<typeof input, Pick<Wanted, keyof Wanted>> = true;
          return [input, is];
        },
      }),
      // A schema whose type says less, and a type that is given.
      tool({ name: 'any', input: value<object>(), run: (input) => input['to'] }),
      tool<{ to: string }>({ name: 'own', input: object, run: ({ to }) => to.length }),
      // @ts-expect-error: the schema has no such member
      tool({ name: 'no', input: { ...object, properties: {} }, run: ({ to }) => String(to) }),
    ]);
  });

  it('of generated objects come from the JSON Schema', () => {
    const request = { model: 'm', messages: [] };
    const schema = {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
    } as const;
    compiled(async () => {
      const runtime = value<ModelRuntime>();
      const object = await runtime.generateObject({ ...request, schema });
      const named = await runtime.generateObject({ ...request, schema: { name: 'x', schema } });
      const run = runtime.streamObject({ ...request, schema });
      for await (const part of run) part.city?.trim();
      const is: Equal<typeof object, { city: string }> = true;
      return [object, is, named.city.trim()];
    });
  });

  it('of generated objects come from the validator', () => {
    const runtime = value<ModelRuntime>();
    const request = { model: 'm', messages: [] };
    const schema = z.object({ city: z.string(), people: z.array(z.object({ name: z.string() })) });
    compiled(async () => {
      const named = await runtime.generateObject({ ...request, schema: { schema, name: 'x' } });
      const two = await runtime.generateObject({ ...request, schema: v.object({ n: v.number() }) });
      const reported = await runtime.generateObject<{ a: string }>({ ...request, schema: {} });
      const plain: unknown = await runtime.generateObject({
        ...request,
        schema: { type: 'object' },
      });
      const run = runtime.streamObject({ ...request, schema });
      for await (const part of run) part.people?.[0]?.name?.trim();
      const { city } = await run.object();
      return [named.city.trim(), two.n.toFixed(), reported.a.trim(), plain, city];
    });
  });

  it('of answers to what a function asks for are its own', () => {
    compiled(() => {
      const { approvals } = value<Runtime>();
      return [approvals.decide('id', { days: 3 }), approvals.decide('id', { approved: true })];
    });
  });

  it('of a result are told apart by its status', () => {
    const result = value<AgentResult>();
    compiled(() => {
      if (result.status === 'error') return result.error.code satisfies MillraceError['code'];
      if (result.status !== 'interrupted') return result.text;
      const [first] = result.interrupts;
      return first?.reason === 'tool_call' ? first.metadata.toolName.trim() : first?.message.trim();
    });
  });

  it('of tools that vendors define have the input of their type', () => {
    compiled(() => {
      const bash = tool({
        vendor: { type: 'bash_20250124', name: 'bash' },
        approval: true,
        run: ({ command }) => command?.trim(),
      });
      const shell = tool({ vendor: { type: 'shell' }, run: ({ commands }) => commands.join() });
      const patch = tool({
        vendor: { type: 'apply_patch' },
        run: ({ path }): ApplyPatchOutput => ({ status: 'completed', output: path.trim() }),
      });
      const computer = tool({
        vendor: { type: 'computer_use_preview', display_width: 1024 },
        run: ({ x }, { signal }) => [x, signal.aborted],
      });
      const any = tool({ vendor: value<VendorToolDefinition>(), run: (input) => input['a'] });
      // @ts-expect-error: a tool of Anthropic has a name
      tool({ vendor: { type: 'bash_20250124' }, run: () => 1 });
      // @ts-expect-error: no vendor has this type
      tool({ vendor: { type: 'bsh' }, run: () => 1 });
      const names: string[] = [bash.name, shell.name, patch.name, computer.name, any.name];
      createAgent({ model: 'demo:demo', tools: [bash, shell, patch, any], parameters: {} });
      return [names, bash.run({ command: 'ls' }), shell.run({ commands: ['ls'] })];
    });
  });

  it('of tools take a call without a context', () => {
    const n = { type: 'object' };
    compiled(async () => {
      const [calculator] = builtinTools({ calculator: true });
      const [plugin] = pluginTools({ manifest: { identifier: 'p', api: [] } });
      const [api] = openApiTools({ document: {} });
      const [mcp] = await value<MCPClient>().tools();
      const results = [await calculator?.run({}), await plugin?.run({}), await api?.run({})];
      const reported = results.map((one) => one?.content.trim());
      const imageData: unknown = value<ReturnType<typeof imageTool>>().run({ prompt: 'x' });
      const own = tool({ name: 'own', input: n, run: ({ a }: { a: string }) => a });
      const checked = tool({ name: 'c', input: z.object({ a: z.string() }), run: ({ a }) => a });
      const nameless = tool({ run: (_input, { signal }) => signal.aborted });
      const all: HostTool[] = [own, checked, tool({ name: 'x', run: () => 1 })];
      createAgent({ model: 'demo:demo', tools: [...all, ...builtinTools({ time: true })] });
      return [
        reported,
        imageData,
        mcp?.run({}),
        own.run({ a: '' }),
        checked.run({ a: '' }),
        nameless.run({}),
      ];
    });
  });

  it('of options take undefined for what is optional', () => {
    const signal = value<AbortSignal | undefined>();
    const agent = value<EngineAgent>();
    compiled(() => [
      createAgent({
        model: 'demo:demo',
        instructions: maybe,
        tools: undefined,
        limits: { maxSteps: undefined, maxTokens: undefined },
        compression: undefined,
      }),
      tool({ name: 'x', description: maybe, timeoutMs: undefined, run: () => 1 }),
      createModelRuntime('openai', { apiKey: maybe, timeouts: { connect: undefined } }),
      createMCPClient({ command: 'x', args: undefined, cwd: maybe }),
      createMCPClient({ url: 'x', headers: undefined, signal }),
      agent.run('x').resume({ approved: true, reason: maybe }),
      agent.sendMessage({ storage: value<never>(), message: 'x', threadId: maybe, signal }),
      value<ModelRuntime>().stream({ model: 'x', messages: [], temperature: undefined }, {}),
      fetchLLM({ url: 'x', streamAdapter: agUIAdapter(), timeouts: { connect: undefined } }),
      langGraphAdapter({ onInterrupt: undefined, limits: undefined, extended: undefined }),
      openAIResponsesAdapter({ onUsage: undefined, onState: undefined, thinkTags: undefined }),
      agUIAdapter({ limits: undefined }),
    ]);
  });

  it('of options know no misspelt name', () => {
    // @ts-expect-error It is called apiKey.
    expect(() => createModelRuntime('openai', { apikey: 'x' })).toThrow("Did you mean 'apiKey'?");
  });

  it('of runs and channels are refused where a name is misspelt', () => {
    const llm = { url: 'http://x', streamAdapter: agUIAdapter(), messagesFormat: 1 };
    expect(() => fetchLLM(llm)).toThrow("Did you mean 'messageFormat'?");
    expect(() => toAGUIResponse([], { threadID: 'x' } as object)).toThrow(/threadId/);
    expect(() => new AgentRuntime(undefined as never)).toThrow('needs an agent');
  });

  it("of Millrace's events follow from their names", () => {
    compiled(async () => {
      for await (const event of value<EngineAgent>().run('x')) {
        if (event.type !== 'CUSTOM') continue;
        if (event.name === 'millrace.retry') return event.value.waitMs.toFixed();
        if (event.name === 'millrace.run_usage') return event.value.cost.total?.toFixed();
        if (event.name === 'millrace.tool_error') return event.value.toolCallId.trim();
      }
      for await (const event of value<ModelRuntime>().stream({ model: 'm', messages: [] })) {
        if (event.type === 'CUSTOM' && event.name === 'millrace.finish') return event.value.reason;
      }
      return value<MillraceEvent>() satisfies AGUIEvent;
    });
  });

  it('of messages, models and schemas are checked', () => {
    const runtime = value<ModelRuntime>();
    const text = 'x';
    const request = { model: 'm', schema: {} };
    compiled(() => [
      runtime.stream({ model: 'm', messages: [{ role: 'user', content: text }] }),
      runtime.stream({ model: 'm', messages: value<agui.Message[]>(), format: 'canonical' }),
      // @ts-expect-error There is no such role.
      runtime.stream({ model: 'm', messages: [{ role: 'usr', content: text }] }),
      // @ts-expect-error There is no such role.
      runtime.generateObject({ ...request, messages: [{ role: 'usr', content: text }] }),
      createAgent({ model: 'anthropic:claude' satisfies ModelId }),
      createAgent({ model: 'mine:model' }),
    ]);
  });

  it('of a limited run hold the error of the limit', () => {
    compiled(() => {
      const result = value<AgentResult>();
      return result.status === 'limited' ? [result.error.code, result.reason, result.text] : [];
    });
  });

  it('of AG-UI 1.0 are taken', () => {
    const agent = value<EngineAgent>();
    compiled(() => [
      agent.run(value<agui.RunAgentInput>()),
      agent.run(value<agui.Message[]>()),
      toAGUIResponse(value<AsyncIterable<agui.AGUIEvent>>()),
      value<AsyncIterable<AGUIEvent>>(),
      value<agui.RunAgentInput>() satisfies RunAgentInput,
    ]);
  });

  it("of LobeHub's programs are taken", () => {
    const vendor = { provider: 'x', baseURL: 'https://x' };
    const style = 'smooth' as const;
    compiled(() => [
      openaiCompatibleFactory({ ...vendor, models: async () => [{ id: 'x' }] }),
      openaiCompatibleFactory({
        ...vendor,
        models: { transformModel: ({ owned_by: owner, ...model }) => (owner ? model : undefined) },
      }),
      fetchSSE('/x', { responseAnimation: { text: style, toolsCalling: style, speed: 20 } }),
      fetchSSE('/x', { responseAnimation: { text: maybe ? style : undefined } }),
      value<Usage>().llm.tokens.total + value<Cost>().total + value<CostLimit>().maxTotalCost,
    ]);
  });
});
