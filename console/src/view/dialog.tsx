// Dialogs: the browser keeps the focus within, closes them with Escape, and gives the focus back.
import { type ReactNode, useEffect, useId, useRef } from 'react';

export interface DialogProps {
  isOpen: boolean;
  title: string;
  /** Called once, however it was closed. */
  onClose: () => void;
  children: ReactNode;
}

export function Dialog({ isOpen, title, onClose, children }: DialogProps): ReactNode {
  const element = useRef<HTMLDialogElement>(null);
  const label = useId();
  useEffect(() => {
    if (isOpen) element.current?.showModal();
    else element.current?.close();
  }, [isOpen]);
  return (
    <dialog ref={element} aria-labelledby={label} onCancel={onClose}>
      {isOpen && (
        <>
          <h2 id={label}>{title}</h2>
          {children}
        </>
      )}
    </dialog>
  );
}

export interface ConfirmProps {
  isOpen: boolean;
  title: string;
  text: string;
  action: string;
  close: (isAgreed: boolean) => void;
}

export function ConfirmDialog({ isOpen, title, text, action, close }: ConfirmProps): ReactNode {
  return (
    <Dialog isOpen={isOpen} title={title} onClose={() => close(false)}>
      <p>{text}</p>
      <div className="choices">
        <button type="button" className="button" autoFocus onClick={() => close(false)}>
          Cancel
        </button>
        <button type="button" className="button danger" onClick={() => close(true)}>
          {action}
        </button>
      </div>
    </Dialog>
  );
}
