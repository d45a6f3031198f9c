// The parts of an answer: texts, reasoning, and calls of tools and agents.
import { memo, type ReactNode } from 'react';

import type { Answer, CallPart, CallState, Part, ReasoningPart } from '../fold';
import { partsOf } from '../fold';
import { durationText, prettyJson, visible } from '../format';
import { Attachments } from './attachment';
import { Icon } from './icons';
import { Markdown } from './markdown';

const callWords: Record<CallState, string> = {
  writing: 'being prepared',
  running: 'running',
  done: 'done',
  error: 'failed',
  cancelled: 'stopped',
  refused: 'refused',
};

function stateWords({ state, stage = '' }: CallPart, { isWaiting }: Answer): string {
  if (state === 'writing' && isWaiting) return 'waiting for you';
  return state === 'running' && stage !== '' ? stage.replaceAll('_', ' ') : callWords[state];
}

const Reasoning = memo(({ part, isLive }: { part: ReasoningPart; isLive: boolean }): ReactNode => (
  <details className="reasoning">
    <summary>
      <Icon name="chevron" />
      <span className={isLive ? 'working' : ''}>{isLive ? 'Reasoning …' : 'Reasoning'}</span>
    </summary>
    <div className="reasoning-text" dir="auto">
      {part.text}
    </div>
  </details>
));
Reasoning.displayName = 'Reasoning';

function Value({ label, text }: { label: string; text: string }): ReactNode {
  return (
    <div className="value">
      <div className="value-label">{label}</div>
      <pre tabIndex={0} role="region" aria-label={label}>
        {visible(prettyJson(text))}
      </pre>
    </div>
  );
}

function Call({ part, answer }: { part: CallPart; answer: Answer }): ReactNode {
  const { name, args, result, state, durationMs, isAgent } = part;
  const inner = isAgent ? partsOf(answer, part.key.slice('call:'.length)) : [];
  const isAtWork = (state === 'writing' && !answer.isWaiting) || state === 'running';
  return (
    <details className={`call ${state}`} data-state={state}>
      <summary>
        <Icon name="chevron" />
        <span className="call-name">
          {isAgent ? 'Agent ' : ''}
          <code>{visible(name) || '…'}</code>
        </span>
        <span className={`state ${state} ${isAtWork ? 'working' : ''}`}>
          {stateWords(part, answer)}
        </span>
        {durationMs !== undefined && <span className="faint">{durationText(durationMs)}</span>}
      </summary>
      {args !== '' && <Value label="Arguments" text={args} />}
      {inner.length > 0 && (
        <div className="inner">
          <Parts parts={inner} answer={answer} />
        </div>
      )}
      {result !== '' && <Value label={state === 'error' ? 'Error' : 'Result'} text={result} />}
    </details>
  );
}

function PartView({ part, answer }: { part: Part; answer: Answer }): ReactNode {
  if (part.kind === 'call') return <Call part={part} answer={answer} />;
  if (part.kind === 'reasoning') {
    const isLive = answer.state === 'working' && answer.parts.at(-1) === part;
    return <Reasoning part={part} isLive={isLive} />;
  }
  return (
    <>
      <Markdown text={part.text} />
      <Attachments list={part.attachments} />
    </>
  );
}

export function Parts({ parts, answer }: { parts: readonly Part[]; answer: Answer }): ReactNode {
  return parts.map((part) => <PartView key={part.key} part={part} answer={answer} />);
}
