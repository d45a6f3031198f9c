// The latest runs: what they did, how long they took, and what they cost.
import { type ReactNode, useEffect, useState } from 'react';

import { api } from '../api';
import { costText, countText, durationText, momentText } from '../format';
import { hashOf } from '../route';
import type { Conversation, Job } from '../types';
import { titleOf } from '../conversations';

const pollMs = 3000;

const stateOf = (job: Job): string => (job.waiting_input ? 'waiting' : job.status);

interface RunsState {
  jobs: readonly Job[];
  next: string | null;
  isLoaded: boolean;
  problem: string;
}

function useRuns(): RunsState & { more: () => Promise<void> } {
  const [first, setFirst] = useState<readonly Job[]>([]);
  const [older, setOlder] = useState<readonly Job[]>([]);
  const [state, setState] = useState({ next: null as string | null, isLoaded: false, problem: '' });
  useEffect(() => {
    const look = async (): Promise<void> => {
      try {
        const { jobs, next_cursor: next } = await api.jobs();
        setFirst(jobs);
        setState((known) => ({
          next: known.isLoaded ? known.next : next,
          isLoaded: true,
          problem: '',
        }));
      } catch (error) {
        setState((known) => ({ ...known, problem: (error as Error).message }));
      }
    };
    void look();
    const timer = setInterval(() => void (document.hidden || look()), pollMs);
    return () => clearInterval(timer);
  }, []);
  const more = async (): Promise<void> => {
    if (state.next === null) return;
    const { jobs, next_cursor: next } = await api.jobs(state.next);
    setOlder((known) => [...known, ...jobs]);
    setState((known) => ({ ...known, next }));
  };
  const ids = new Set(first.map((job) => job.job_id));
  return { ...state, jobs: [...first, ...older.filter((job) => !ids.has(job.job_id))], more };
}

function RunRow({ job, title }: { job: Job; title: string }): ReactNode {
  const { usage, cost } = job;
  const state = stateOf(job);
  const tokens = usage
    ? `${countText(usage.input_tokens)} in, ${countText(usage.output_tokens)} out`
    : '–';
  return (
    <tr>
      <td data-label="State">
        <span className={`state ${state}`}>{state}</span>
      </td>
      <td data-label="Conversation">
        <a href={hashOf(job.conversation_id)}>{title}</a>
        {job.error && job.status === 'error' && <span className="run-error">{job.error}</span>}
      </td>
      <td data-label="Started">{momentText(job.created_at)}</td>
      <td data-label="Duration">{durationText(job.duration_ms ?? job.elapsed_ms)}</td>
      <td data-label="Tokens">{tokens}</td>
      <td data-label="Cost">{cost ? costText(cost) : '–'}</td>
    </tr>
  );
}

export function Runs({ conversations }: { conversations: readonly Conversation[] }): ReactNode {
  const { jobs, next, isLoaded, problem, more } = useRuns();
  const titles = new Map(conversations.map((one) => [one.id, titleOf(one)]));
  return (
    <div className="runs" role="region" aria-label="Runs" tabIndex={0}>
      {problem !== '' && (
        <p className="ending failed" role="alert">
          {problem}
        </p>
      )}
      {isLoaded && jobs.length === 0 && <p className="faint">No runs yet.</p>}
      {jobs.length > 0 && (
        <table className="run-table">
          <caption className="hidden">The latest runs, the newest first</caption>
          <thead>
            <tr>
              {['State', 'Conversation', 'Started', 'Duration', 'Tokens', 'Cost'].map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {jobs.map((job) => (
              <RunRow
                key={job.job_id}
                job={job}
                title={titles.get(job.conversation_id) ?? job.conversation_id}
              />
            ))}
          </tbody>
        </table>
      )}
      {next !== null && (
        <button type="button" className="button" onClick={() => void more().catch(() => undefined)}>
          Show earlier runs
        </button>
      )}
    </div>
  );
}
