// What a run waits for: exactly what will run, and the user's decision.
import { type FormEvent, type ReactNode, useState } from 'react';

import { visible } from '../format';
import type { Action } from '../types';
import { Icon } from './icons';

export type Decide = (entry: unknown) => Promise<void>;

const resolved = (payload: unknown): unknown => ({ status: 'resolved', payload });

// One value of the arguments; a text as it is, everything else as JSON.
const valueText = (value: unknown): string =>
  visible(typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? ''));

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function ExactArguments({ value }: { value: unknown }): ReactNode {
  if (value === null || value === undefined) return null;
  const members = isRecord(value) ? Object.entries(value) : [['Arguments', value] as const];
  if (members.length === 0) return <p className="faint">It has no arguments.</p>;
  return (
    <dl className="arguments">
      {members.map(([name, member]) => (
        <div key={name}>
          <dt>{visible(name)}</dt>
          <dd>
            <pre tabIndex={0} role="region" aria-label={`Argument ${name}`}>
              {valueText(member)}
            </pre>
          </dd>
        </div>
      ))}
    </dl>
  );
}

interface Choice {
  label: string;
  className: string;
  entry: unknown;
}

// What was shown is sent along: the server rejects the decision where the call is another one.
function approvalChoices({ hash, tool_call_id: call, arguments: shown }: Action): Choice[] {
  const same = {
    ...(hash !== null && { hash }),
    ...(call !== null && { toolCallId: call }),
    ...(shown !== null && { arguments: shown }),
  };
  return [
    { label: 'Approve', className: 'primary', entry: resolved({ approved: true, ...same }) },
    { label: 'Deny', className: 'danger', entry: resolved({ approved: false }) },
  ];
}

const outcomeChoices: Choice[] = [
  { label: 'It ran', className: 'primary', entry: resolved({ value: 'ran' }) },
  { label: 'It did not run', className: '', entry: resolved({ value: 'did_not_run' }) },
  { label: 'Stop the run', className: 'danger', entry: resolved({ value: 'stop' }) },
];

function Choices({ list, decide }: { list: readonly Choice[]; decide: Decide }): ReactNode {
  const [isBusy, setBusy] = useState(false);
  const choose = async ({ entry }: Choice): Promise<void> => {
    setBusy(true);
    await decide(entry);
    setBusy(false);
  };
  return (
    <div className="choices">
      {list.map((choice) => (
        <button
          key={choice.label}
          type="button"
          className={`button ${choice.className}`}
          disabled={isBusy}
          onClick={() => void choose(choice)}
        >
          {choice.label}
        </button>
      ))}
    </div>
  );
}

// What the user may choose from: texts, or values with labels.
function optionChoices({ options }: Action): Choice[] {
  if (!Array.isArray(options)) return [];
  return options.map((option: unknown) => {
    const value = isRecord(option) && 'value' in option ? option['value'] : option;
    const label = isRecord(option) && typeof option['label'] === 'string' ? option['label'] : value;
    return { label: valueText(label), className: '', entry: resolved({ value }) };
  });
}

// Undefined where the user writes the answer.
function choicesOf(action: Action): readonly Choice[] | undefined {
  if (action.kind === 'approval') return approvalChoices(action);
  if (action.reason === 'millrace:unknown_outcome') return outcomeChoices;
  const choices = optionChoices(action);
  return choices.length > 0 ? choices : undefined;
}

// For an agent a value; for a function what its schema names: a text, or JSON where the text is some.
function payloadOf({ of_function: isOfFunction, schema }: Action, text: string): unknown {
  if (!isOfFunction) return { value: text };
  if (isRecord(schema) && schema['type'] === 'string') return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function Question({ action, decide }: { action: Action; decide: Decide }): ReactNode {
  const [text, setText] = useState('');
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void decide(resolved(payloadOf(action, text)));
  };
  return (
    <form className="question-form" onSubmit={submit}>
      <label>
        <span>Your answer</span>
        <input className="field" value={text} onChange={(event) => setText(event.target.value)} />
      </label>
      <button type="submit" className="button primary">
        Answer
      </button>
    </form>
  );
}

export function Approval({ action, decide }: { action: Action; decide: Decide }): ReactNode {
  const isOutcome = action.reason === 'millrace:unknown_outcome';
  const isApproval = action.kind === 'approval';
  const title = isApproval ? 'Approval needed' : isOutcome ? 'Outcome unknown' : 'Answer needed';
  const choices = choicesOf(action);
  return (
    <section className="approval" aria-label={title}>
      <h3>
        <Icon name="warning" />
        {title}
      </h3>
      {action.message && <p>{visible(action.message)}</p>}
      {action.name && (
        <p className="tool-name">
          <span className="faint">{action.of_function ? 'Action' : 'Tool'}</span>{' '}
          <code>{visible(action.name)}</code>
        </p>
      )}
      <ExactArguments value={action.arguments} />
      {choices ? (
        <Choices list={choices} decide={decide} />
      ) : (
        <Question action={action} decide={decide} />
      )}
    </section>
  );
}
