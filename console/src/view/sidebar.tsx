// The conversations, and where to go from them.
import { type FormEvent, type KeyboardEvent, type ReactNode, useState } from 'react';

import { type Conversations, titleOf } from '../conversations';
import icon from '../icon.svg';
import { hashOf } from '../route';
import type { Conversation } from '../types';
import { ConfirmDialog } from './dialog';
import { Icon } from './icons';
import { useStore } from './use-store';

function RenameForm({
  conversation,
  done,
}: {
  conversation: Conversation;
  done: (title: string | undefined) => void;
}): ReactNode {
  const [title, setTitle] = useState(titleOf(conversation));
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    done(title.trim() || undefined);
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === 'Escape') done(undefined);
  };
  return (
    <form className="rename" onSubmit={submit}>
      <input
        className="field"
        aria-label="Title"
        value={title}
        autoFocus
        onFocus={(event) => event.target.select()}
        onChange={(event) => setTitle(event.target.value)}
        onKeyDown={onKey}
      />
      <button type="submit" className="icon-button small" aria-label="Save title">
        <Icon name="check" />
      </button>
    </form>
  );
}

interface RowProps {
  conversation: Conversation;
  isOpen: boolean;
  conversations: Conversations;
  askToRemove: () => void;
}

function Row({ conversation, isOpen, conversations, askToRemove }: RowProps): ReactNode {
  const [isRenaming, setRenaming] = useState(false);
  const title = titleOf(conversation);
  if (isRenaming) {
    const done = (given: string | undefined): void => {
      setRenaming(false);
      if (given !== undefined && given !== title) void conversations.rename(conversation.id, given);
    };
    return (
      <li>
        <RenameForm conversation={conversation} done={done} />
      </li>
    );
  }
  return (
    <li className={isOpen ? 'row open' : 'row'}>
      <a href={hashOf(conversation.id)} aria-current={isOpen ? 'page' : undefined} title={title}>
        <span className="row-title">{title}</span>
        {conversation.is_running && <span className="pulse" role="img" aria-label="Working" />}
      </a>
      <span className="row-actions">
        <button
          type="button"
          className="icon-button small"
          aria-label={`Rename ${title}`}
          title="Rename"
          onClick={() => setRenaming(true)}
        >
          <Icon name="edit" />
        </button>
        <button
          type="button"
          className="icon-button small"
          aria-label={`Delete ${title}`}
          title="Delete"
          onClick={askToRemove}
        >
          <Icon name="trash" />
        </button>
      </span>
    </li>
  );
}

export interface SidebarProps {
  conversations: Conversations;
  current: string | undefined;
  isRunsOpen: boolean;
  hasSession: boolean;
  changeSession: () => void;
  close: () => void;
}

function Brand({ close }: Pick<SidebarProps, 'close'>): ReactNode {
  return (
    <div className="brand">
      <img className="brand-mark" src={icon} alt="" />
      <span>Millrace</span>
      <button
        type="button"
        className="icon-button close-menu"
        aria-label="Close menu"
        onClick={close}
      >
        <Icon name="close" />
      </button>
    </div>
  );
}

type FootProps = Pick<SidebarProps, 'isRunsOpen' | 'hasSession' | 'changeSession'>;

function Foot({ isRunsOpen, hasSession, changeSession }: FootProps): ReactNode {
  return (
    <div className="sidebar-foot">
      <a href="#/runs" className="foot-link" aria-current={isRunsOpen ? 'page' : undefined}>
        <Icon name="runs" />
        Runs
      </a>
      <button type="button" className="foot-link" onClick={changeSession}>
        <Icon name="key" />
        {hasSession ? 'Log out' : 'Log in'}
      </button>
    </div>
  );
}

export function Sidebar(props: SidebarProps): ReactNode {
  const { conversations, current, isRunsOpen, hasSession, changeSession, close } = props;
  const { list, hasMore, isLoaded, problem } = useStore(conversations);
  const [leaving, setLeaving] = useState<Conversation>();
  const remove = async (conversation: Conversation): Promise<void> => {
    const isGone = await conversations.remove(conversation.id);
    if (isGone && conversation.id === current) location.hash = hashOf(undefined);
  };
  return (
    <nav className="sidebar" id="sidebar" aria-label="Conversations">
      <Brand close={close} />
      <a className="button wide" href={hashOf(undefined)} onClick={close}>
        <Icon name="plus" />
        New conversation
      </a>
      {problem !== '' && (
        <p className="ending failed" role="alert">
          {problem}
        </p>
      )}
      {isLoaded && list.length === 0 && <p className="faint none">No conversations yet.</p>}
      <ul className="rows">
        {list.map((one) => (
          <Row
            key={one.id}
            conversation={one}
            isOpen={one.id === current}
            conversations={conversations}
            askToRemove={() => setLeaving(one)}
          />
        ))}
        {hasMore && (
          <li>
            <button type="button" className="foot-link" onClick={() => void conversations.more()}>
              Show earlier conversations
            </button>
          </li>
        )}
      </ul>
      <Foot isRunsOpen={isRunsOpen} hasSession={hasSession} changeSession={changeSession} />
      <ConfirmDialog
        isOpen={leaving !== undefined}
        title="Delete this conversation?"
        text={`“${leaving ? titleOf(leaving) : ''}” and its messages, files and runs are deleted. They cannot be restored.`}
        action="Delete"
        close={(isAgreed) => {
          if (isAgreed && leaving) void remove(leaving);
          setLeaving(undefined);
        }}
      />
    </nav>
  );
}
