// restStorage over the engine's transport, against a real server; and inMemoryStorage.
import type { UserMessage } from 'millrace';
import { MillraceError, inMemoryStorage, openAIMessageFormat, restStorage } from 'millrace';

import type { Loopback } from '../support/server';
import { bodyOf, loopback } from '../support/server';

interface Seen {
  method: string | undefined;
  url: string | undefined;
  type: string | undefined;
  token: string | string[] | undefined;
  body: string;
}

let backend: Loopback;
let seen: Seen[] = [];
let answer: { status: number; body: string };

beforeAll(async () => {
  backend = await loopback((request, response) => {
    void bodyOf(request).then((body) => {
      const { method, url, headers } = request;
      seen.push({ method, url, type: headers['content-type'], token: headers['x-token'], body });
      response.writeHead(answer.status).end(answer.body);
    });
  });
});
afterAll(() => backend.close());
beforeEach(() => {
  seen = [];
  answer = { status: 200, body: '{}' };
});

const message: UserMessage = { id: 'u', role: 'user', content: 'hello' };
const storage = (base = '/api') =>
  restStorage({
    baseUrl: backend.url + base,
    headers: { 'X-Token': 'secret' },
    transport: 'engine',
  }).thread;
const failureOf = (work: Promise<unknown>): Promise<MillraceError> =>
  work.then(
    () => Promise.reject(new Error('it did not fail')),
    (error: unknown) => error as MillraceError,
  );

describe('restStorage()', () => {
  it('speaks the five endpoints', async () => {
    const { thread } = restStorage({
      baseUrl: `${backend.url}/api`,
      messageFormat: openAIMessageFormat,
      transport: 'engine',
    });
    answer.body = '{"threads":[],"nextCursor":"n"}';
    expect(await thread.listThreads()).toEqual({ threads: [], nextCursor: 'n' });
    answer.body = '{"id":"1","title":"t","createdAt":5}';
    expect(await thread.createThread(message)).toEqual({ id: '1', title: 't', createdAt: 5 });
    expect(await thread.updateThread({ id: '1', title: 'x', createdAt: 5 })).toEqual({
      id: '1',
      title: 't',
      createdAt: 5,
    });
    answer.body = '[{"role":"user","content":"hi","id":"m"}]';
    expect(await thread.getMessages('1')).toEqual([{ id: 'm', role: 'user', content: 'hi' }]);
    expect(await thread.deleteThread('1')).toBeUndefined();
    expect(seen.map(({ method, url, body }) => [method, url, body])).toEqual([
      ['GET', '/api/get', ''],
      ['POST', '/api/create', '{"messages":[{"role":"user","content":"hello"}]}'],
      ['PATCH', '/api/update/1', '{"id":"1","title":"x","createdAt":5}'],
      ['GET', '/api/get/1', ''],
      ['DELETE', '/api/delete/1', ''],
    ]);
    expect(seen.map(({ type }) => type)).toEqual([
      undefined,
      'application/json',
      'application/json',
      undefined,
      undefined,
    ]);
  });

  it('escapes ids and cursors and minds a trailing slash', async () => {
    answer.body = '[]';
    await storage('/api//').getMessages('a/b?c#d e');
    await storage('/api/').listThreads('x&y=z');
    expect(seen.map(({ url }) => url)).toEqual([
      '/api/get/a%2Fb%3Fc%23d%20e',
      '/api/get?cursor=x%26y%3Dz',
    ]);
    expect(seen[0]?.token).toBe('secret');
    const error = await failureOf(storage().deleteThread('..'));
    expect(MillraceError.is(error, 'invalid_argument')).toBe(true);
  });

  it.each([204, 200])(
    'takes an empty answer with status %d to update and delete',
    async (status) => {
      answer = { status, body: '' };
      const thread = { id: '1', title: 't', createdAt: 1 };
      expect(await storage().updateThread(thread)).toEqual(thread);
      await storage().deleteThread('1');
    },
  );

  it.each([
    [500, '{"error":"the disk is full"}', 'the disk is full', true],
    [404, '{"error":{"message":"no such thread"}}', 'no such thread', false],
    [403, '{"message":"not yours"}', 'not yours', false],
    [502, '<html>', undefined, true],
    [502, '{"error":"<html><title>Gone</title></html>"}', 'an HTML page titled "Gone"', true],
  ])(
    'rejects with status %d and what the server says',
    async (status, body, received, retryable) => {
      answer = { status, body };
      const error = await failureOf(storage().getMessages('1'));
      const start = `restStorage: GET ${backend.url}/api/get/1 failed: ${status} `;
      expect(error.message.startsWith(start)).toBe(true);
      if (received) expect(error.message).toContain(received);
      expect(error).toMatchObject({ status, retryable, code: 'provider_error' });
      expect(error.message).not.toContain('secret');
    },
  );

  it('names an answer that is no JSON', async () => {
    answer.body = 'hello';
    const error = await failureOf(storage().listThreads());
    expect(MillraceError.is(error, 'invalid_json')).toBe(true);
    expect(error.message).toContain('is not JSON');
  });

  it('replaces a stored message', async () => {
    const { thread } = restStorage({
      baseUrl: `${backend.url}/api`,
      messageFormat: openAIMessageFormat,
      transport: 'engine',
    });
    answer = { status: 204, body: '' };
    const edited = { id: 'm/1', role: 'assistant' as const, content: 'new' };
    expect(await thread.updateMessage('t 1', edited)).toBeUndefined();
    expect(seen[0]).toMatchObject({
      method: 'PATCH',
      url: '/api/messages/t%201/m%2F1',
      type: 'application/json',
      body: '{"messages":[{"role":"assistant","content":"new"}]}',
    });
    answer.status = 500;
    const error = await failureOf(thread.updateMessage('t', edited));
    expect(error.message).toContain('PATCH');
  });

  it('takes the ids of a service that counts its threads', async () => {
    answer.body = '[]';
    await storage().getMessages(5 as never);
    expect(seen[0]?.url).toBe('/api/get/5');
  });

  // Tests of users replace fetch by what has only the members they know of.
  it.each([undefined, null, '', NaN, {}, true])('sends no id that is none: %p', async (id) => {
    const requested: unknown[] = [];
    const send = ((url: unknown) => {
      requested.push(url);
      return Promise.resolve(Response.json({}));
    }) as typeof fetch;
    const { thread } = restStorage({ baseUrl: 'https://api.example', fetch: send });
    const message = { id: 'm', role: 'user' as const, content: 'x' };
    const wrong = id as string;
    const ways: [string, () => Promise<unknown>][] = [
      ['threadId', () => thread.getMessages(wrong)],
      ['thread.id', () => thread.updateThread({ id: wrong, title: 't', createdAt: 1 })],
      ['id', () => thread.deleteThread(wrong)],
      ['threadId', () => thread.updateMessage(wrong, message)],
      ['message.id', () => thread.updateMessage('t', { ...message, id: wrong })],
    ];
    for (const [argument, request] of ways) {
      await expect(request()).rejects.toMatchObject({
        code: 'invalid_argument',
        message: expect.stringContaining(`restStorage: ${argument} must be the id`) as string,
      });
    }
    await expect(thread.updateThread(undefined as never)).rejects.toThrow('thread.id must be');
    expect(requested).toEqual([]);
  });

  it('is content with a fetch that answers with json() alone', async () => {
    const list = { threads: [{ id: '1', title: 't', createdAt: 1 }] };
    const requested: [url: string, init: RequestInit][] = [];
    const standIn = (given: object) =>
      restStorage({
        baseUrl: '',
        fetch: ((url: string, init: RequestInit) => {
          requested.push([url, init]);
          return Promise.resolve({ ok: true, status: 200, statusText: 'OK', ...given });
        }) as unknown as typeof fetch,
      }).thread;
    const thread = standIn({ json: () => Promise.resolve(list) });
    expect(await thread.listThreads()).toBe(list);
    expect(await thread.createThread(message)).toBe(list);
    expect(await thread.updateThread({ id: '1', title: 't', createdAt: 1 })).toBe(list);
    expect(await thread.getMessages('1')).toBe(list);
    await standIn({}).deleteThread('1');
    const rejected = standIn({ ok: false, status: 503, statusText: 'Busy' }).listThreads();
    expect((await failureOf(rejected)).message).toBe('restStorage: GET /get failed: 503 Busy');
    expect(requested.map(([url, { method }]) => [method, url])).toEqual([
      [undefined, '/get'],
      ['POST', '/create'],
      ['PATCH', '/update/1'],
      [undefined, '/get/1'],
      ['DELETE', '/delete/1'],
      [undefined, '/get'],
    ]);
  });

  it('refuses wrong options by name', () => {
    const headers = new Headers({ a: 'b' }) as never;
    expect(() => restStorage({ baseUrl: backend.url, headers })).toThrow(/headers must be an/);
    expect(() => restStorage({ baseUrl: '' })).toThrow(/baseUrl '' is relative.*origin/);
    expect(() => restStorage(undefined as never)).toThrow(/takes an object/);
    expect(() => restStorage({ baseUrl: 5 as never })).toThrow(/baseUrl must be a string/);
    expect(() => restStorage({ baseUrl: '/api' })).toThrow(/baseUrl '\/api' is relative.*origin/);
  });
});

describe('inMemoryStorage()', () => {
  it('keeps values that JSON does not have', async () => {
    const { artifact } = inMemoryStorage();
    const content = { at: new Date(0) };
    const { id } = await artifact.create({ title: 'a', type: 'doc', threadId: 't', content });
    expect((await artifact.get(id)).content).toEqual({ at: new Date(0) });
  });

  it('keeps what a store caches of a thread', async () => {
    const { thread } = inMemoryStorage();
    const question = { id: 'u', role: 'user' as const, content: 'Hi' };
    const { id } = await thread.createThread(question);
    const messages = [question, { id: 'a', role: 'assistant' as const, content: 'Hello' }];
    await thread.cacheMessages(id, messages);
    expect(await thread.getMessages(id)).toEqual(messages);
  });

  it('begins with artifacts', async () => {
    const artifacts = ['doc', 'docs'].map((type) => ({
      type,
      title: type,
      threadId: 't',
      content: 0,
    }));
    const { artifact } = inMemoryStorage({ artifacts });
    expect((await artifact.list()).artifacts.map(({ type }) => type)).toEqual(['doc', 'docs']);
  });
});
