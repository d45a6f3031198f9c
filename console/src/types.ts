// What the Runtime API answers, as far as the page reads it.

export interface Attachment {
  id: string;
  name?: string;
  display_name?: string;
  size?: number;
  media_type?: string;
  kind?: string;
  download_url?: string;
  preview_url?: string;
}

export interface Conversation {
  id: string;
  title: string;
  title_source: string;
  message_count?: number;
  is_running?: boolean;
  updated_at: string;
}

export type JobStatus = 'queued' | 'running' | 'done' | 'error' | 'cancelled';

export interface Job {
  job_id: string;
  conversation_id: string;
  status: JobStatus;
  created_at: number;
  elapsed_ms: number;
  duration_ms: number | null;
  current_stage: string;
  error: string | null;
  /** Of a job that waits for its turn; the history has it then. */
  queued_message?: { message_id: string; content: string; attachments: Attachment[] } | null;
  waiting_input: { action_id: string; name?: string } | null;
  usage?: { input_tokens: number; output_tokens: number; total_tokens: number } | null;
  cost?: { total: number; currency?: string | null } | null;
}

/** What a job waits for, with the exact call. */
export interface Action {
  action_id: string;
  kind: string;
  reason: string | null;
  tool_call_id: string | null;
  name: string | null;
  message: string | null;
  arguments: unknown;
  hash: string | null;
  options: unknown;
  schema: unknown;
  /** The function gets the answer as it is. */
  of_function: boolean;
}

/** An entry of a job's log. */
export interface JobEvent {
  /** Its place in the log; a reader goes on behind it. */
  id: string;
  event: string;
  payload: Record<string, unknown>;
}

export interface HistoryItem {
  message_id: string;
  role: 'user' | 'bot';
  content: string;
  attachments?: Attachment[];
  /** The run at work has not taken it yet. */
  pending?: boolean;
  webchat?: {
    job_id: string;
    status: JobStatus;
    duration_ms?: number;
    events: { seq: number; event: string; payload: Record<string, unknown> }[];
  };
}

export interface HistoryPage {
  items: HistoryItem[];
  next_before: number | null;
}
