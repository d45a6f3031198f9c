// Requests to the Runtime API of the server that this page comes from.
import type { Action, Attachment, Conversation, HistoryPage, Job, JobEvent } from './types';

/** An answer that is no success; status 0 where the server was not reached. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

const sessionPath = 'api/v1/session';
let isLoggedIn = false;

/** Whether this page has begun a session; its cookie is out of reach of scripts. */
export function hasSession(): boolean {
  return isLoggedIn;
}

/** Asks whether an earlier page has begun a session. */
export async function findSession(): Promise<void> {
  const { active } = await get<{ active: boolean }>(sessionPath);
  isLoggedIn = active;
}

/** Begins a session with a key, or with the name and the password of one. The key itself is not kept. */
export async function logIn(user: string, secret: string): Promise<void> {
  const given = user === '' ? { key: secret } : { user, password: secret };
  const response = await reach(sessionPath, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(given),
  });
  if (!response.ok) throw new ApiError(response.status, await reasonOf(response));
  isLoggedIn = true;
}

/** Ends the session. */
export async function logOut(): Promise<void> {
  await send(sessionPath, { method: 'DELETE' });
  isLoggedIn = false;
}

/** 32 hexadecimal digits; `randomUUID` is absent on pages without TLS. */
export function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

async function reasonOf(response: Response): Promise<string> {
  try {
    const { error } = (await response.json()) as { error?: unknown };
    if (typeof error === 'string') return error;
    const { message } = error as { message?: unknown };
    if (typeof message === 'string') return message;
  } catch {
    // A proxy in front may answer with anything.
  }
  return `The server answered ${response.status}.`;
}

/** Called where the server wants a key, or another one. */
let keyWanted: () => void = () => undefined;
export function onKeyWanted(call: () => void): void {
  keyWanted = call;
}

// `path` is below the page's own address, wherever that is.
async function reach(path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(path.replace(/^\//, ''), init);
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new ApiError(0, 'The server cannot be reached.');
  }
}

/** Sends a request; what is no success is thrown. */
export async function send(path: string, init: RequestInit = {}): Promise<Response> {
  const response = await reach(path, init);
  if (response.ok) return response;
  if (response.status === 401) {
    isLoggedIn = false;
    keyWanted();
  }
  throw new ApiError(response.status, await reasonOf(response));
}

async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await send(path, signal ? { signal } : {})).json() as Promise<T>;
}

async function change<T>(
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<T> {
  const json = body === undefined ? undefined : JSON.stringify(body);
  const type = { 'Content-Type': 'application/json' };
  const init = {
    method,
    headers: { ...type, ...headers },
    ...(json !== undefined && { body: json }),
  };
  return (await send(path, init)).json() as Promise<T>;
}

const chat = 'api/v1/chat';
const id = encodeURIComponent;

/** What becomes of a message while an answer is being made. */
export type OnBusy = 'queue' | 'steer' | 'interrupt';

export interface JobRequest {
  conversation: string;
  text: string;
  attachments: readonly string[];
  /** Makes a repeated request harmless. */
  key: string;
  onBusy: OnBusy;
}

export const api = {
  conversations: (
    limit: number,
  ): Promise<{ conversations: Conversation[]; next_cursor?: string }> =>
    get(`${chat}/conversations?limit=${limit}`),
  async create(): Promise<Conversation> {
    const path = `${chat}/conversations`;
    return (await change<{ conversation: Conversation }>('POST', path, {})).conversation;
  },
  rename: (conversation: string, title: string): Promise<unknown> =>
    change('PATCH', `${chat}/conversations/${id(conversation)}`, { title }),
  remove: (conversation: string): Promise<unknown> =>
    change('DELETE', `${chat}/conversations/${id(conversation)}`),
  history: (conversation: string, before?: number): Promise<HistoryPage> => {
    const place = before === undefined ? '' : `&before=${before}`;
    return get(`${chat}/history?conversation_id=${id(conversation)}&limit=40${place}`);
  },
  regenerate: (conversation: string, message: string): Promise<Job> =>
    change(
      'POST',
      `${chat}/conversations/${id(conversation)}/messages/${id(message)}/regenerate`,
      {},
    ),
  jobs: (cursor?: string): Promise<{ jobs: Job[]; next_cursor: string | null }> =>
    get(`${chat}/jobs?limit=50${cursor === undefined ? '' : `&cursor=${id(cursor)}`}`),
  job: (job: string): Promise<Job> => get(`${chat}/jobs/${id(job)}`),
  /** The one at work first: others wait behind it. */
  async activeJobs(conversation: string): Promise<Job[]> {
    const path = `${chat}/jobs/active?conversation_id=${id(conversation)}`;
    return (await get<{ jobs: Job[] }>(path)).jobs;
  },
  start: ({ conversation, text, attachments, key, onBusy }: JobRequest): Promise<Job> => {
    const message = { text, attachment_ids: attachments };
    const body = { message, conversation_id: conversation, on_busy: onBusy };
    return change('POST', `${chat}/jobs`, body, { 'Idempotency-Key': key });
  },
  cancel: (job: string): Promise<Job> => change('POST', `${chat}/jobs/${id(job)}/cancel`),
  /** One that waits for its turn, with its message. */
  takeBack: (job: string): Promise<Job> =>
    change('POST', `${chat}/jobs/${id(job)}/cancel?take_back=true`),
  async log(job: string): Promise<JobEvent[]> {
    type Item = { seq: number; id?: string; event: string; payload: Record<string, unknown> };
    const path = `${chat}/jobs/${id(job)}/events?deltas=1`;
    const { events } = await get<{ events: Item[] }>(path);
    return events.map(({ seq, id: place = String(seq), event, payload }) => ({
      ...{ id: place, event, payload },
    }));
  },
  stream: (job: string, after: string, signal: AbortSignal): Promise<Response> =>
    send(`${chat}/jobs/${id(job)}/events?deltas=1&after=${id(after || '0')}`, {
      headers: { Accept: 'text/event-stream' },
      signal,
    }),
  async actions(job: string): Promise<Action[]> {
    return (await get<{ actions: Action[] }>(`${chat}/jobs/${id(job)}/actions`)).actions;
  },
  decide: (job: string, action: string, entry: unknown): Promise<Job> =>
    change('POST', `${chat}/jobs/${id(job)}/actions/${id(action)}`, entry),
  async upload(file: File, signal: AbortSignal): Promise<Attachment> {
    const body = new FormData();
    body.append('file', file);
    const response = await send(`${chat}/attachments`, { method: 'POST', body, signal });
    return ((await response.json()) as { attachment: Attachment }).attachment;
  },
  async bytes(path: string, signal: AbortSignal): Promise<Blob> {
    return (await send(path, { signal })).blob();
  },
};
