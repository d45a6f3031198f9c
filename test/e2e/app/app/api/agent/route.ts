import { createAgent, tool } from 'millrace';

const sendPostcard = tool<{ to: string }>({
  name: 'send_postcard',
  description: 'Sends a postcard.',
  input: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
  approval: true,
  run: ({ to }) => `The postcard to ${to} is on its way`,
});

const agent = createAgent({ model: 'demo:demo', tools: [sendPostcard] });

export const POST = agent.handler;
