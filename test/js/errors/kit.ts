// Loopback peers that fail in every way, and models and agents that call them.
import { createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';

import type { CreateAgentOptions, EngineAgent, ModelRun, ModelRuntimeOptions } from 'millrace';
import { createAgent, createModelRuntime, tool } from 'millrace';

import type { Provider } from '../../support/provider';
import { startProvider } from '../../support/provider';
import type { ScriptedModel, Turn } from '../../support/scripted-model';
import { startModel } from '../../support/scripted-model';

const open: { close(): unknown }[] = [];

/** Closes what the rows opened. */
export async function closeAll(): Promise<void> {
  await Promise.all(open.splice(0).map((one) => one.close()));
}

export function keep<T extends { close(): unknown }>(one: T): T {
  open.push(one);
  return one;
}

export async function providerOf(answer: Provider['answer']): Promise<Provider> {
  return keep(await startProvider(answer));
}

/** The port of a server that treats each connection so. */
export async function rawPort(serve: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    serve(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  keep({
    close: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(resolve));
    },
  });
  return (server.address() as AddressInfo).port;
}

/** A port where nobody listens. */
export async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export const payload = { model: 'm', messages: [{ role: 'user' as const, content: 'Hi' }] };

/** A call of a model that fails; its text() rejects. */
export function callOf(
  baseURL: string,
  options: ModelRuntimeOptions = {},
  provider = 'openai',
): ModelRun {
  const own = { apiKey: 'k', baseURL, maxRetries: 0, circuit: false as const };
  return createModelRuntime(provider, { ...own, ...options }).stream(payload);
}

/** What a model's provider that answers so makes of a call. */
export async function answered(
  answer: Provider['answer'],
  options: ModelRuntimeOptions = {},
  provider = 'openai',
): Promise<unknown> {
  return callOf(`${(await providerOf(answer)).url}/v1`, options, provider).text();
}

/** What a status and a body of a provider make of a call. */
export const rejected =
  (status: number, body: unknown, provider = 'openai', options: ModelRuntimeOptions = {}) =>
  (): Promise<unknown> =>
    answered(
      (response) =>
        void response
          .writeHead(status, { 'content-type': 'application/json' })
          .end(typeof body === 'string' ? body : JSON.stringify(body)),
      options,
      provider,
    );

/** An agent whose model answers from a script. */
export async function agentOf(
  script: Turn[],
  options: Partial<CreateAgentOptions> = {},
): Promise<{ agent: EngineAgent; model: ScriptedModel }> {
  const model = keep(await startModel(script));
  const provider = { baseURL: model.url, apiKey: 'k', maxRetries: 0 };
  return { agent: createAgent({ model: 'openai:gpt-5', provider, ...options }), model };
}

/** The error with which a run of such an agent ends. */
export const errorOf = (agent: EngineAgent, ...input: Parameters<EngineAgent['run']>) =>
  agent.run(...input).result.then(({ error }) => error);

export const pay = tool({ name: 'pay', approval: true, run: () => 'paid' });
export const requestsToPay: Turn = { calls: [{ id: 'c0', name: 'pay' }] };
export const looks: Turn = { calls: [{ id: 'c0', name: 'look' }] };
