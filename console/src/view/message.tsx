// One entry of a conversation.
import { memo, type ReactNode, useEffect, useRef } from 'react';

import type { Chat } from '../chat';
import type { AnswerEntry, Question } from '../entries';
import { type Answer, partsOf, textOf } from '../fold';
import { costText, durationText, tokensText } from '../format';
import { Approval } from './approval';
import { Attachments } from './attachment';
import { CopyButton } from './copy-button';
import { Icon } from './icons';
import { Parts } from './parts';

export const QuestionView = memo(({ question }: { question: Question }): ReactNode => (
  <article
    className="message user"
    data-role="user"
    data-state={question.isPending ? 'sent' : 'taken'}
  >
    <h2 className="hidden">You</h2>
    <Attachments list={question.attachments} />
    {question.text !== '' && (
      <div className="bubble" dir="auto">
        {question.text}
      </div>
    )}
    {question.isPending && <p className="progress">Waiting for the answer to take it</p>}
  </article>
));
QuestionView.displayName = 'QuestionView';

const stageWords: Record<string, string> = {
  queued: 'Waiting for its turn',
  waiting_model: 'Waiting for the model',
  retrying_model: 'Trying the model again',
  waiting_tools: 'Running tools',
  preparing_tools: 'Running tools',
  waiting_input: 'Waiting for you',
};

function Working({ answer }: { answer: Answer }): ReactNode {
  const last = answer.parts.at(-1);
  const isWriting = last?.kind === 'text' && answer.stage === 'waiting_model';
  if (isWriting) return null;
  const words = stageWords[answer.stage] ?? 'Working';
  return (
    <p className="progress">
      <span className="dots" aria-hidden="true">
        <span />
        <span />
        <span />
      </span>
      {words}
    </p>
  );
}

function Queued({ take }: { take: () => void }): ReactNode {
  return (
    <p className="progress">
      {stageWords['queued']}
      <button
        type="button"
        className="icon-button small"
        aria-label="Take the message back"
        title="Take the message back"
        onClick={take}
      >
        <Icon name="close" />
      </button>
    </p>
  );
}

function Ending({ answer }: { answer: Answer }): ReactNode {
  if (answer.state === 'cancelled') return <p className="ending">Stopped.</p>;
  if (answer.state !== 'error') return null;
  return (
    <p className="ending failed" role="alert">
      <Icon name="warning" />
      <span>The run failed: {answer.error || 'no reason is known.'}</span>
    </p>
  );
}

interface AnswerProps {
  entry: AnswerEntry;
  chat: Chat;
  /** The latest answer can be made again. */
  isLatest: boolean;
}

function Footer({ entry, chat, isLatest }: AnswerProps): ReactNode {
  const { answer, spent } = entry;
  const text = textOf(answer);
  return (
    <footer className="message-footer">
      {text !== '' && <CopyButton text={text} label="Copy answer" />}
      {isLatest && (
        <button
          type="button"
          className="icon-button small"
          aria-label="Answer again"
          title="Answer again"
          onClick={() => void chat.again()}
        >
          <Icon name="again" />
        </button>
      )}
      {answer.durationMs !== undefined && <span>{durationText(answer.durationMs)}</span>}
      {spent?.usage && <span>{tokensText(spent.usage.total_tokens)}</span>}
      {spent?.cost && <span>{costText(spent.cost)}</span>}
    </footer>
  );
}

/** Calls once the element comes into view. */
function useSeen(isWanted: boolean, call: () => void): React.RefObject<HTMLElement | null> {
  const element = useRef<HTMLElement>(null);
  const latest = useRef(call);
  useEffect(() => {
    latest.current = call;
  });
  useEffect(() => {
    const target = element.current;
    if (!isWanted || !target) return undefined;
    const observer = new IntersectionObserver(([seen]) => {
      if (seen?.isIntersecting) latest.current();
    });
    observer.observe(target);
    return () => observer.disconnect();
  }, [isWanted]);
  return element;
}

export const AnswerView = memo(({ entry, chat, isLatest }: AnswerProps): ReactNode => {
  const { answer, job, actions } = entry;
  const element = useSeen(entry.isShort, () => void chat.complete(entry));
  const isWorking = answer.state === 'working';
  return (
    <article
      className="message assistant"
      data-role="assistant"
      data-state={entry.isQueued ? 'queued' : answer.isWaiting ? 'waiting' : answer.state}
      aria-busy={isWorking && !answer.isWaiting}
      ref={element}
    >
      <h2 className="hidden">Assistant</h2>
      <Parts parts={partsOf(answer, '')} answer={answer} />
      {entry.isQueued && <Queued take={() => void chat.takeBack(entry)} />}
      {isWorking && !entry.isQueued && !answer.isWaiting && <Working answer={answer} />}
      {answer.isWaiting &&
        actions.map((action) => (
          <Approval
            key={action.action_id}
            action={action}
            decide={(decision) => chat.decide(job, action, decision)}
          />
        ))}
      {answer.isWaiting && entry.actionsProblem !== '' && (
        <p className="ending failed">{entry.actionsProblem}</p>
      )}
      <Ending answer={answer} />
      {!isWorking && <Footer entry={entry} chat={chat} isLatest={isLatest} />}
    </article>
  );
});
AnswerView.displayName = 'AnswerView';
