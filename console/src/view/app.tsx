// The whole page: conversations beside the one that is open, or the runs.
import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react';

import { findSession, hasSession, logOut, onKeyWanted, type OnBusy } from '../api';
import { Chat } from '../chat';
import { Conversations, titleOf } from '../conversations';
import { hashOf, routeOf, useHash } from '../route';
import type { Attachment } from '../types';
import { Composer } from './composer';
import { Icon } from './icons';
import { KeyDialog } from './key-dialog';
import { Runs } from './runs';
import { Sidebar } from './sidebar';
import { Thread } from './thread';
import { useStore } from './use-store';

interface Stores {
  conversations: Conversations;
  chat: Chat;
}

function makeStores(): Stores {
  const conversations = new Conversations();
  const chat = new Chat(() => void conversations.refresh());
  return { conversations, chat };
}

function Problems({ chat }: { chat: Chat }): ReactNode {
  const { problem, isLive } = useStore(chat);
  return (
    <>
      {!isLive && (
        <p className="banner" role="status">
          The server cannot be reached. The page connects again by itself; nothing is lost.
        </p>
      )}
      {problem !== '' && (
        <div className="banner failed" role="alert">
          <span>{problem}</span>
          <button
            type="button"
            className="icon-button small"
            aria-label="Dismiss"
            onClick={() => chat.dismiss()}
          >
            <Icon name="close" />
          </button>
        </div>
      )}
    </>
  );
}

function ChatView({ chat }: { chat: Chat }): ReactNode {
  const state = useStore(chat);
  const field = useRef<HTMLTextAreaElement>(null);
  const isWorking = chat.active !== undefined;
  useEffect(() => {
    // A keyboard that covers half of a phone comes when it is wanted.
    if (window.matchMedia('(pointer: fine)').matches) field.current?.focus();
  }, [state.id]);
  const send = async (
    text: string,
    files: readonly Attachment[],
    onBusy?: OnBusy,
  ): Promise<boolean> =>
    chat.send(text, files, (id) => history.replaceState(null, '', hashOf(id)), onBusy);
  const sendExample = (text: string): void => void send(text, []);
  return (
    <>
      <Thread chat={chat} state={state} useExample={sendExample} />
      <div className="bottom">
        <Problems chat={chat} />
        <Composer
          isWorking={isWorking}
          isSending={state.isSending}
          field={field}
          send={send}
          stop={() => chat.stop()}
        />
      </div>
    </>
  );
}

/** Keeps the stores at what the address names. */
function useRoute({ conversations, chat }: Stores, version: number): ReturnType<typeof routeOf> {
  const hash = useHash();
  const { list } = useStore(conversations);
  const chatState = useStore(chat);
  const route = useMemo(() => routeOf(hash), [hash]);
  const shown = route.view === 'chat' ? route.id : undefined;
  const isChat = route.view === 'chat';
  const opened = useRef(-1);
  useEffect(() => {
    if (!isChat || (shown === chat.get().id && opened.current === version)) return;
    opened.current = version;
    void chat.open(shown);
  }, [chat, isChat, shown, version]);
  useEffect(() => conversations.watch(), [conversations, version]);
  const isRunning = list.some((one) => one.id === chatState.id && one.is_running);
  useEffect(() => {
    if (isRunning) void chat.catchUp();
  }, [chat, isRunning, list]);
  return route;
}

interface SessionState {
  /** Counts sessions: in another one, everything is read again. */
  version: number;
  isLoggingIn: boolean;
  /** Logs out, or has the user log in. */
  change: () => void;
  /** The user has logged in, or given it up. */
  close: (isChanged: boolean) => void;
}

function useSession(): SessionState {
  const [isLoggingIn, setLoggingIn] = useState(false);
  const [version, setVersion] = useState(0);
  const next = (): void => setVersion((count) => count + 1);
  // A user who gives no key is not asked again by each request.
  const isDeclined = useRef(false);
  useEffect(() => {
    onKeyWanted(() => setLoggingIn((now) => now || !isDeclined.current));
    findSession().then(
      () => hasSession() && next(),
      () => undefined,
    );
  }, []);
  const change = (): void => {
    if (hasSession()) logOut().then(next, () => undefined);
    else setLoggingIn(true);
  };
  const close = (isChanged: boolean): void => {
    setLoggingIn(false);
    isDeclined.current = !isChanged;
    if (isChanged) next();
  };
  return { version, isLoggingIn, change, close };
}

export function App(): ReactNode {
  const stores = useMemo(makeStores, []);
  const { conversations, chat } = stores;
  const [isMenuOpen, setMenuOpen] = useState(false);
  const session = useSession();
  const { version } = session;
  const route = useRoute(stores, version);
  const { list } = useStore(conversations);
  const { id } = useStore(chat);
  useEffect(() => setMenuOpen(false), [route]);
  const isRuns = route.view === 'runs';
  const current = list.find((one) => one.id === id);
  const title = isRuns ? 'Runs' : current ? titleOf(current) : 'New conversation';
  useEffect(() => {
    document.title = `${title} – Millrace`;
  }, [title]);
  return (
    <div className={isMenuOpen ? 'page menu-open' : 'page'}>
      <Sidebar
        conversations={conversations}
        current={isRuns ? undefined : id}
        isRunsOpen={isRuns}
        hasSession={hasSession()}
        changeSession={session.change}
        close={() => setMenuOpen(false)}
      />
      <div className="shade" onClick={() => setMenuOpen(false)} />
      <main className="main">
        <header className="head">
          <button
            type="button"
            className="icon-button open-menu"
            aria-label="Open menu"
            aria-expanded={isMenuOpen}
            aria-controls="sidebar"
            onClick={() => setMenuOpen(true)}
          >
            <Icon name="menu" />
          </button>
          <h1 title={title}>{title}</h1>
        </header>
        {isRuns ? <Runs conversations={list} /> : <ChatView chat={chat} />}
      </main>
      <KeyDialog isOpen={session.isLoggingIn} close={session.close} />
    </div>
  );
}
