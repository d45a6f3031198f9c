// A loopback model that speaks OpenAI's chat API and answers from a script.
import type { Provider } from './provider';
import { startProvider, stream } from './provider';

/** A call of a tool in an answer. */
export interface ScriptedCall {
  id?: string;
  name: string;
  args?: unknown;
}

/** One turn: a text, calls, or both; `hang` never ends, and `waits` holds back the end. */
export interface Turn {
  text?: string;
  calls?: ScriptedCall[];
  hang?: boolean;
  /** The connection breaks behind the text. */
  cut?: boolean;
  waits?: Promise<unknown>;
}

export interface ScriptedModel extends Provider {
  /** The bodies that were received. */
  readonly asked: { messages: { role: string; content: unknown; tool_call_id?: string }[] }[];
  /** The same. */
  readonly chatBodies: ScriptedModel['asked'];
}

const data = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
const delta = (members: object, finish?: string): string =>
  data({ choices: [{ index: 0, delta: members, ...(finish && { finish_reason: finish }) }] });

function records({ text, calls = [], hang }: Turn): string[] {
  const made = [delta({ role: 'assistant', content: '' })];
  for (const word of text?.split(/(?= )/) ?? []) made.push(delta({ content: word }));
  if (hang) return made;
  calls.forEach(({ id, name, args }, index) => {
    const json = typeof args === 'string' ? args : JSON.stringify(args ?? {});
    const head = { index, id, type: 'function', function: { name, arguments: '' } };
    made.push(delta({ tool_calls: [head] }));
    made.push(delta({ tool_calls: [{ index, function: { arguments: json } }] }));
  });
  made.push(delta({}, calls.length > 0 ? 'tool_calls' : 'stop'));
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
  made.push(data({ choices: [], usage }), 'data: [DONE]\n\n');
  return made;
}

/** Starts a model; a function sees the request and gives the turn. */
export async function startModel(
  script: Turn[] | ((body: ScriptedModel['asked'][number], index: number) => Turn),
): Promise<ScriptedModel> {
  const provider = (await startProvider()) as ScriptedModel;
  const requested: ScriptedModel['asked'] = [];
  Object.assign(provider, { asked: requested, chatBodies: requested });
  provider.answer = async (response, call) => {
    const body = JSON.parse(call.body) as ScriptedModel['asked'][number];
    requested.push(body);
    const turn =
      typeof script === 'function'
        ? script(body, requested.length - 1)
        : (script[requested.length - 1] ?? { text: 'nothing left' });
    if (!turn.hang && !turn.waits && !turn.cut) return stream(records(turn))(response, call);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const begun = records({ ...turn, hang: true });
    for (const record of begun) response.write(record);
    if (turn.cut) return void response.write('\n', () => response.destroy());
    if (turn.hang) return call.closed;
    await turn.waits;
    for (const record of records(turn).slice(begun.length)) response.write(record);
    response.end();
  };
  return provider;
}
