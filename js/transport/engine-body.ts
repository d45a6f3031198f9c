// Bodies that the engine's own transport produces, found again by their ReadableStream.
import type { PipeKind } from '../addon';
import type { Source } from './body';

/** What a pipe is made of; see read_pipe_spec in lib/host/pipe.hpp. */
export interface PipeSpec {
  kind: PipeKind;
  options: Record<string, unknown>;
}

/** The engine's end of a body that is unread. */
export interface EngineBody {
  /** Takes the body over and locks `stream`; undefined when its bytes are being read already. */
  open(stream: ReadableStream<Uint8Array>, spec: PipeSpec): Source | undefined;
}

const bodies = new WeakMap<ReadableStream, EngineBody>();

export function rememberEngineBody(stream: ReadableStream, body: EngineBody): void {
  bodies.set(stream, body);
}

/** The engine's end of this body, or undefined when the bytes come from elsewhere. */
export function engineBodyOf(stream: ReadableStream): EngineBody | undefined {
  return bodies.get(stream);
}
