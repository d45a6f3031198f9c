// Loopback models that speak Anthropic's Messages and OpenAI's Responses, and answer from a script.
import type { Provider } from './provider';
import { startProvider, stream } from './provider';

/** A block of Claude's answer. */
export type Block =
  { type: 'text'; text: string } | { type: 'tool_use'; id: string; name: string; input: object };

/** An item of a response. */
export interface Item {
  type: string;
  [member: string]: unknown;
}

/** A body that a model received. */
export interface VendorBody {
  tools?: { type?: string; name?: string; [member: string]: unknown }[];
  messages: { role: string; content: string | Record<string, unknown>[] }[];
  input: (Item & { output?: unknown })[];
}

export interface VendorModel extends Provider {
  readonly bodies: VendorBody[];
}

const models: VendorModel[] = [];
afterEach(async () => {
  await Promise.all(models.splice(0).map((one) => one.close()));
});

const named = (record: { type: string }): string =>
  `event: ${record.type}\ndata: ${JSON.stringify(record)}\n\n`;

async function start<Turn>(
  turns: readonly Turn[],
  recordsOf: (turn: Turn | undefined, index: number) => { type: string }[],
): Promise<VendorModel> {
  const provider = (await startProvider()) as VendorModel;
  const bodies: VendorBody[] = [];
  Object.assign(provider, { bodies });
  provider.answer = (response, call) => {
    bodies.push(JSON.parse(call.body) as VendorBody);
    const index = bodies.length - 1;
    return stream(recordsOf(turns[index], index).map(named))(response, call);
  };
  models.push(provider);
  return provider;
}

const opened = (block: Block): object =>
  block.type === 'text' ? { ...block, text: '' } : { ...block, input: {} };
const delta = (block: Block): object =>
  block.type === 'text'
    ? { type: 'text_delta', text: block.text }
    : { type: 'input_json_delta', partial_json: JSON.stringify(block.input) };

/** Claude: each turn is its blocks; behind the script it says `done`. */
export function startClaude(...turns: Block[][]): Promise<VendorModel> {
  return start(turns, (given, turn) => {
    const blocks: Block[] = given ?? [{ type: 'text', text: 'done' }];
    const calls = blocks.some(({ type }) => type === 'tool_use');
    const usage = { input_tokens: 10, output_tokens: 1 };
    return [
      {
        type: 'message_start',
        message: { id: `msg_${turn}`, role: 'assistant', content: [], usage },
      },
      ...blocks.flatMap((block, index) => [
        { type: 'content_block_start', index, content_block: opened(block) },
        { type: 'content_block_delta', index, delta: delta(block) },
        { type: 'content_block_stop', index },
      ]),
      {
        type: 'message_delta',
        delta: { stop_reason: calls ? 'tool_use' : 'end_turn' },
        usage: { output_tokens: 5 },
      },
      { type: 'message_stop' },
    ];
  });
}

const message = (text: string, turn: number): Item => ({
  ...{ type: 'message', id: `msg_${turn}`, role: 'assistant', status: 'completed' },
  content: [{ type: 'output_text', text, annotations: [] }],
});

/** A model of OpenAI's: each turn is the items of a response; behind the script it says `done`. */
export function startResponses(...turns: Item[][]): Promise<VendorModel> {
  return start(turns, (items, turn) => {
    const output = items ?? [message('done', turn)];
    const id = `resp_${turn}`;
    const usage = { input_tokens: 3, output_tokens: 2, total_tokens: 5 };
    return [
      { type: 'response.created', response: { id, status: 'in_progress' } },
      ...output.flatMap((item, index) => [
        {
          type: 'response.output_item.added',
          output_index: index,
          item: { ...item, status: 'in_progress' },
        },
        { type: 'response.output_item.done', output_index: index, item },
      ]),
      { type: 'response.completed', response: { id, status: 'completed', output, usage } },
    ];
  });
}

/** Settings of a provider at a loopback model. */
export const at = (model: Provider): { baseURL: string; apiKey: string; maxRetries: number } => ({
  ...{ baseURL: model.url, apiKey: 'k', maxRetries: 0 },
});
