// The messages of a conversation, which follow their end while the reader is there.
import { type ReactNode, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react';

import type { Chat, ChatState } from '../chat';
import type { AnswerEntry } from '../entries';
import { Icon } from './icons';
import { AnswerView, QuestionView } from './message';

// How near to the end a reader counts as being there.
const nearPx = 80;

const examples = [
  'What is the weather in Paris?',
  'Write a postcard to Ada.',
  'What is the reason for the seasons?',
];

function Welcome({ use }: { use: (text: string) => void }): ReactNode {
  return (
    <div className="welcome">
      <h2>What shall we work on?</h2>
      <p>Answers go on when you close this page, and when the server restarts.</p>
      <ul aria-label="Examples">
        {examples.map((text) => (
          <li key={text}>
            <button type="button" className="example" onClick={() => use(text)}>
              {text}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

interface Following {
  box: React.RefObject<HTMLDivElement | null>;
  isAtEnd: boolean;
  onScroll: () => void;
  toEnd: () => void;
}

function useFollowing(state: ChatState): Following {
  const box = useRef<HTMLDivElement>(null);
  const isFollowing = useRef(true);
  const [isAtEnd, setAtEnd] = useState(true);
  const toEnd = useCallback(() => {
    isFollowing.current = true;
    setAtEnd(true);
    box.current?.scrollTo({ top: box.current.scrollHeight });
  }, []);
  const onScroll = (): void => {
    if (!box.current) return;
    const { scrollHeight, scrollTop, clientHeight } = box.current;
    isFollowing.current = scrollHeight - scrollTop - clientHeight < nearPx;
    setAtEnd(isFollowing.current);
  };
  useLayoutEffect(() => {
    if (isFollowing.current) toEnd();
  }, [state.entries, toEnd]);
  useEffect(toEnd, [state.id, toEnd]);
  // Pictures grow once they are here.
  useEffect(() => {
    const inner = box.current?.firstElementChild;
    if (!inner) return undefined;
    const observer = new ResizeObserver(() => {
      if (isFollowing.current) box.current?.scrollTo({ top: box.current.scrollHeight });
    });
    observer.observe(inner);
    return () => observer.disconnect();
  }, []);
  return { box, isAtEnd, onScroll, toEnd };
}

// What people who do not see the page hear: where an answer stands, not each of its words.
function Announcement({ state }: { state: ChatState }): ReactNode {
  const last = state.entries.findLast(
    (entry): entry is AnswerEntry => entry.kind === 'answer' && !entry.isQueued,
  );
  let text = '';
  if (last) {
    const { answer } = last;
    if (answer.isWaiting) text = 'The run waits for your decision.';
    else if (answer.state === 'working') text = 'The answer is being written.';
    else if (answer.state === 'done') text = 'The answer is complete.';
  }
  return (
    <p className="hidden" role="status">
      {text}
    </p>
  );
}

interface ThreadProps {
  chat: Chat;
  state: ChatState;
  useExample: (text: string) => void;
}

export function Thread({ chat, state, useExample }: ThreadProps): ReactNode {
  const { box, isAtEnd, onScroll, toEnd } = useFollowing(state);
  const { entries, before, isLoading } = state;
  const isEmpty = entries.length === 0 && !isLoading;
  return (
    <div className="thread-frame">
      <div
        className="thread"
        ref={box}
        onScroll={onScroll}
        tabIndex={0}
        role="region"
        aria-label="Messages"
      >
        <div className="thread-inner">
          {before !== null && (
            <button type="button" className="button" onClick={() => void chat.loadOlder()}>
              Show earlier messages
            </button>
          )}
          {isLoading && <p className="faint">Loading …</p>}
          {isEmpty && <Welcome use={useExample} />}
          {entries.map((entry) =>
            entry.kind === 'question' ? (
              <QuestionView key={entry.key} question={entry} />
            ) : (
              <AnswerView
                key={entry.key}
                entry={entry}
                chat={chat}
                isLatest={entry === entries.at(-1)}
              />
            ),
          )}
        </div>
      </div>
      <Announcement state={state} />
      {!isAtEnd && (
        <button type="button" className="to-end" aria-label="To the latest message" onClick={toEnd}>
          <Icon name="down" />
        </button>
      )}
    </div>
  );
}
