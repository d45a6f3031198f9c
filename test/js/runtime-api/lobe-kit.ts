// Operations of LobeHub's server for the tests of its routes: an agent with tools, and a reader of streams.
import { tool } from 'millrace';

import { type ScriptedModel, startModel } from '../../support/scripted-model';
import {
  type Api,
  type ApiSetUp,
  type Frame,
  framesIn,
  type HostName,
  type Json,
  serve,
} from './kit';

const models: ScriptedModel[] = [];

/** Ends the models that a test started. */
export async function closeModels(): Promise<void> {
  await Promise.all(models.splice(0).map((one) => one.close()));
}

/** A request to the model. */
export interface ModelRequest {
  messages: { role: string; content: unknown }[];
}

export interface LobeApi extends Api {
  /** What its model got. */
  readonly requests: ModelRequest[];
  /** POST of JSON that is answered with this status. */
  post(path: string, json: object, status?: number): Promise<Json>;
  get(path: string, status?: number): Promise<Json>;
  /** The events of an operation until its stream ends, without the first frame. */
  events(id: string, after?: string, headers?: Record<string, string>): Promise<Frame[]>;
}

const find = tool({ name: 'find', run: () => 'found' });
const send = tool({ name: 'send', approval: true, run: () => 'sent' });

/**
 * Serves an agent that finds and sends what it is told to: 'find', 'send', 'send twice' (both calls wait), 'locate'
 * (a tool of the client), 'ask' (a question and such a tool), else it answers at once.
 */
export async function serveLobe(host: HostName, setUp: ApiSetUp = {}): Promise<LobeApi> {
  const requests: ModelRequest[] = [];
  const model = await startModel((body) => {
    requests.push(body);
    const last = body.messages.at(-1);
    if (last?.role !== 'user') return { text: 'all done' };
    const [name = '', times] = String(last.content).split(' ');
    const questionOf = (id: string) => ({ id, name: 'ask_user', args: { prompt: 'Where to?' } });
    if (name === 'ask') return { calls: [questionOf('q'), { id: 'l', name: 'locate' }] };
    if (!['find', 'send', 'locate'].includes(name)) return { text: `you said ${name}` };
    const call = (id: string) => ({ id: `${id}${models.length}-${body.messages.length}`, name });
    return { text: 'let me', calls: times === 'twice' ? [call('a'), call('b')] : [call('a')] };
  });
  models.push(model);
  const provider = { baseURL: model.url, apiKey: 'k', maxRetries: 0 };
  const agent = { model: 'openai:scripted', provider, tools: [find, send, 'ask_user'] };
  return lobeOf(await serve(host, { agent, ...setUp }), requests);
}

export function lobeOf(api: Api, requests: ModelRequest[] = []): LobeApi {
  const events: LobeApi['events'] = async (id, after = '', headers = {}) => {
    const query = after === '' ? '' : `&lastEventId=${after}`;
    const response = await api.send(`/api/agent/stream?operationId=${id}${query}`, { headers });
    return framesIn(await response.text()).filter(({ event }) => event !== 'connected');
  };
  return {
    ...api,
    requests,
    events,
    post: (path, json, status = 200) =>
      api.json(`/api/agent/${path}`, status, { method: 'POST', json }),
    get: (path, status = 200) => api.json(`/api/agent/${path}`, status),
  };
}

/** What a client shows of an operation's events. */
export const textOf = (events: Frame[]): string =>
  events
    .filter(({ data }) => data.data?.chunkType === 'text')
    .map(({ data }) => data.data.content as string)
    .join('');

export const typesOf = (events: Frame[]): string[] => events.map(({ data }) => data.type as string);
