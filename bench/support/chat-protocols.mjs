// How a client of each chat server makes a conversation, and has one message answered as a stream. `turn` gives the whole
// stream as text and calls onFirst with its first event.
import { randomUUID } from 'node:crypto';

async function expect(status, answer, what) {
  const { status: seen, text } = await answer;
  if (seen !== status) throw new Error(`${what}: status ${seen}\n${text.slice(0, 1000)}`);
  return text;
}

const jsonOf = (text) => JSON.parse(/\{.*\}/s.exec(text.slice(text.indexOf('\r\n\r\n')))[0]);
const eventStream = { accept: 'text/event-stream' };

// A job is begun, then its log is read.
const jobs = (root) => ({
  ending: 'event: done',
  async conversation(lane) {
    const body = { title: 'bench' };
    const request = { method: 'POST', path: `${root}/conversations`, body };
    return jsonOf(await expect(201, lane.ask(request), 'a conversation')).conversation.id;
  },
  async begin(lane, conversation, message) {
    const body = { message, conversation_id: conversation };
    const begun = lane.ask({ method: 'POST', path: `${root}/jobs`, body });
    return jsonOf(await expect(202, begun, 'a job')).job_id;
  },
  // Any number of readers may read one job.
  read(lane, id, onFirst) {
    const path = `${root}/jobs/${id}/events?deltas=1`;
    return expect(200, lane.ask({ method: 'GET', path, headers: eventStream }, onFirst), path);
  },
  async turn(lane, conversation, message, onFirst) {
    return this.read(lane, await this.begin(lane, conversation, message), onFirst);
  },
});

export const protocols = {
  jobs: jobs('/api/v1/chat'),
  mastra: {
    ending: '"type":"finish"',
    async conversation(lane) {
      const threadId = randomUUID();
      const body = { threadId, resourceId: 'bench', title: 'bench' };
      const path = '/api/memory/threads?agentId=agent';
      await expect(200, lane.ask({ method: 'POST', path, body }), 'a thread');
      return threadId;
    },
    turn(lane, thread, message, onFirst) {
      const messages = [{ role: 'user', content: message }];
      const body = { messages, memory: { thread, resource: 'bench' } };
      const path = '/api/agents/agent/stream';
      return expect(200, lane.ask({ method: 'POST', path, body }, onFirst), 'a stream');
    },
  },
  langgraph: {
    ending: 'event: messages',
    async conversation(lane) {
      const answer = lane.ask({ method: 'POST', path: '/threads', body: {} });
      return jsonOf(await expect(200, answer, 'a thread')).thread_id;
    },
    turn(lane, thread, message, onFirst) {
      const input = { messages: [{ role: 'user', content: message }] };
      const body = { assistant_id: 'agent', input, stream_mode: ['messages-tuple'] };
      const path = `/threads/${thread}/runs/stream`;
      return expect(200, lane.ask({ method: 'POST', path, body }, onFirst), 'a stream');
    },
  },
};

/** One turn, whose stream has to be whole: `last` is in it, and the event that ends it. */
export async function wholeTurn(protocol, lane, conversation, { message, last }, onFirst) {
  const text = await protocol.turn(lane, conversation, message, onFirst);
  if (!text.includes(protocol.ending) || (last !== undefined && !text.includes(last))) {
    throw new Error(`a stream that is not whole:\n${text.slice(-2000)}`);
  }
}
