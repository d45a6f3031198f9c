'use client';

import { HttpAgent, type Interrupt, type Message } from '@ag-ui/client';
import { useRef, useState } from 'react';

function textOf(message: Message): string {
  if (typeof message.content === 'string') return message.content;
  return '';
}

// A chat with the agent of this application, or with another server's (?agent=<address>).
export default function Chat() {
  const agent = useRef<HttpAgent>(undefined);
  // What a person stopped did not fail.
  const stopped = useRef(false);
  const [messages, setMessages] = useState<Message[]>([]);
  const [interrupts, setInterrupts] = useState<Interrupt[]>([]);
  const [state, setState] = useState('idle');
  const [text, setText] = useState('');

  const theAgent = (): HttpAgent => {
    const asked = new URLSearchParams(window.location.search).get('agent');
    agent.current ??= new HttpAgent({ url: asked ?? '/api/agent' });
    return agent.current;
  };

  const run = async (parameters?: Parameters<HttpAgent['runAgent']>[0]): Promise<void> => {
    const current = theAgent();
    setState('running');
    setInterrupts([]);
    let end = 'idle';
    stopped.current = false;
    try {
      await current.runAgent(parameters, {
        onMessagesChanged: ({ messages: changed }) => setMessages([...changed]),
        onRunErrorEvent: ({ event }) => {
          end = `failed: ${event.message}`;
        },
      });
    } catch (error) {
      end = `failed: ${(error as Error).message}`;
    }
    setInterrupts([...current.pendingInterrupts]);
    setState(stopped.current ? 'idle' : end);
  };

  const send = (): Promise<void> => {
    theAgent().addMessage({ id: crypto.randomUUID(), role: 'user', content: text });
    setMessages([...theAgent().messages]);
    setText('');
    return run();
  };

  const stop = (): void => {
    stopped.current = true;
    theAgent().abortRun();
  };

  const decide = (interrupt: Interrupt, approved: boolean): Promise<void> =>
    run({ resume: [{ interruptId: interrupt.id, status: 'resolved', payload: { approved } }] });

  return (
    <main>
      <h1>Chat</h1>
      <ol data-testid="messages">
        {messages.map((message) => (
          <li key={message.id} data-role={message.role}>
            <b>{message.role}</b> {textOf(message)}
          </li>
        ))}
      </ol>
      {interrupts.map((interrupt) => (
        <p key={interrupt.id} role="alert">
          {interrupt.message}{' '}
          <button type="button" onClick={() => void decide(interrupt, true)}>
            Approve
          </button>{' '}
          <button type="button" onClick={() => void decide(interrupt, false)}>
            Refuse
          </button>
        </p>
      ))}
      <input aria-label="Message" value={text} onChange={(event) => setText(event.target.value)} />{' '}
      <button type="button" onClick={() => void send()}>
        Send
      </button>{' '}
      <button type="button" onClick={stop}>
        Stop
      </button>
      <p data-testid="state">{state}</p>
    </main>
  );
}
