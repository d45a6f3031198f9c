// Where messages are written: text, files, send and stop.
import {
  type ClipboardEvent,
  type DragEvent,
  type FormEvent,
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';

import type { OnBusy } from '../api';
import { sizeText } from '../format';
import type { Attachment } from '../types';
import { Icon } from './icons';
import { type Upload, useUploads } from './use-uploads';

export interface ComposerProps {
  isWorking: boolean;
  isSending: boolean;
  field: RefObject<HTMLTextAreaElement | null>;
  send: (text: string, attachments: readonly Attachment[], onBusy: OnBusy) => Promise<boolean>;
  stop: () => Promise<void>;
}

function UploadList({
  uploads,
  remove,
}: {
  uploads: readonly Upload[];
  remove: (key: string) => void;
}): ReactNode {
  if (uploads.length === 0) return null;
  return (
    <ul className="uploads" aria-label="Files to send">
      {uploads.map(({ key, file, picture, problem, attachment }) => (
        <li key={key} className={problem === '' ? 'upload' : 'upload failed'}>
          {picture ? <img src={picture} alt="" /> : <Icon name="file" />}
          <span className="file-name">{file.name}</span>
          <span className="faint" role="status">
            {problem || (attachment ? sizeText(file.size) : 'uploading …')}
          </span>
          <button
            type="button"
            className="icon-button small"
            aria-label={`Remove ${file.name}`}
            onClick={() => remove(key)}
          >
            <Icon name="close" />
          </button>
        </li>
      ))}
    </ul>
  );
}

// As high as its text, up to a limit of the style sheet.
function useHeight(field: RefObject<HTMLTextAreaElement | null>, text: string): void {
  useLayoutEffect(() => {
    if (!field.current) return;
    field.current.style.height = 'auto';
    field.current.style.height = `${field.current.scrollHeight}px`;
  }, [field, text]);
}

function FileButton({ add }: { add: (files: Iterable<File>) => void }): ReactNode {
  const picker = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={picker}
        type="file"
        multiple
        hidden
        onChange={(event) => {
          if (event.target.files) add(event.target.files);
          event.target.value = '';
        }}
      />
      <button
        type="button"
        className="icon-button"
        aria-label="Attach files"
        title="Attach files"
        onClick={() => picker.current?.click()}
      >
        <Icon name="attach" />
      </button>
    </>
  );
}

const busyWords: Record<OnBusy, string> = {
  queue: 'Send it next',
  steer: 'Add it to the answer',
  interrupt: 'Cut the answer',
};

/** What becomes of a message while an answer is being made. Files go into a turn of their own. */
function BusyChoice({
  value,
  hasFiles,
  choose,
}: {
  value: OnBusy;
  hasFiles: boolean;
  choose: (value: OnBusy) => void;
}): ReactNode {
  return (
    <select
      className="busy-choice"
      aria-label="While the answer runs"
      value={hasFiles ? 'queue' : value}
      disabled={hasFiles}
      onChange={(event) => choose(event.target.value as OnBusy)}
    >
      {Object.entries(busyWords).map(([name, words]) => (
        <option key={name} value={name}>
          {words}
        </option>
      ))}
    </select>
  );
}

function StopButton({ stop }: { stop: () => Promise<void> }): ReactNode {
  return (
    <button
      type="button"
      className="round stop"
      aria-label="Stop"
      title="Stop"
      onClick={() => void stop()}
    >
      <Icon name="stop" />
    </button>
  );
}

/** Handlers that take files from the clipboard and from elsewhere on the screen. */
function filesFrom(add: (files: Iterable<File>) => void): {
  onPaste: (event: ClipboardEvent) => void;
  onDragOver: (event: DragEvent) => void;
  onDrop: (event: DragEvent) => void;
} {
  return {
    onPaste: (event) => {
      if (event.clipboardData.files.length === 0) return;
      event.preventDefault();
      add(event.clipboardData.files);
    },
    onDragOver: (event) => event.preventDefault(),
    onDrop: (event) => {
      event.preventDefault();
      add(event.dataTransfer.files);
    },
  };
}

export function Composer({ isWorking, isSending, field, send, stop }: ComposerProps): ReactNode {
  const [text, setText] = useState('');
  const { uploads, add, remove, clear } = useUploads();
  useHeight(field, text);
  const isUploading = uploads.some((one) => one.problem === '' && !one.attachment);
  const attachments = uploads.flatMap((one) => (one.attachment ? [one.attachment] : []));
  const isEmpty = text.trim() === '' && attachments.length === 0;
  const canSend = !isSending && !isUploading && !isEmpty;
  const [onBusy, setOnBusy] = useState<OnBusy>('queue');
  const hasFiles = uploads.length > 0;

  const submit = async (): Promise<void> => {
    const wanted = hasFiles ? 'queue' : onBusy;
    if (!canSend || !(await send(text.trim(), attachments, wanted))) return;
    setText('');
    clear();
  };
  const onKey = (event: KeyboardEvent): void => {
    // A key that ends the input of a composed character is not for the page.
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    void submit();
  };
  const onSubmit = (event: FormEvent): void => {
    event.preventDefault();
    void submit();
  };

  return (
    <form className="composer" onSubmit={onSubmit} {...filesFrom(add)}>
      <UploadList uploads={uploads} remove={remove} />
      <textarea
        ref={field}
        aria-label="Message"
        placeholder="Write a message"
        rows={1}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKey}
      />
      <div className="composer-row">
        <FileButton add={add} />
        {isWorking ? (
          <BusyChoice value={onBusy} hasFiles={hasFiles} choose={setOnBusy} />
        ) : (
          <span className="hint">Enter sends, Shift + Enter begins a new line</span>
        )}
        {isWorking && <StopButton stop={stop} />}
        {(!isWorking || !isEmpty) && (
          <button
            type="submit"
            className="round"
            aria-label="Send"
            title="Send"
            disabled={!canSend}
          >
            <Icon name="send" />
          </button>
        )}
      </div>
    </form>
  );
}
