// Logging in: the key that the server wants, or the name and the password of one.
import { type FormEvent, type ReactNode, useState } from 'react';

import { ApiError, logIn } from '../api';
import { Dialog } from './dialog';

interface KeyDialogProps {
  isOpen: boolean;
  close: (isChanged: boolean) => void;
}

function reasonOf(error: unknown): string {
  if (!(error instanceof ApiError)) throw error;
  return error.status === 401 ? 'That is not right.' : error.message;
}

function KeyForm({ close }: Omit<KeyDialogProps, 'isOpen'>): ReactNode {
  const [user, setUser] = useState('');
  const [secret, setSecret] = useState('');
  const [failure, setFailure] = useState('');
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setFailure('');
    logIn(user.trim(), secret.trim()).then(
      () => close(true),
      (error: unknown) => setFailure(reasonOf(error)),
    );
  };
  return (
    <form onSubmit={submit}>
      <p>
        This server answers requests with a key only. The key is sent once and not kept; the session
        ends after 12 hours, or when you log out.
      </p>
      <label>
        <span>API key or password</span>
        <input
          className="field"
          type="password"
          autoComplete="current-password"
          spellCheck={false}
          autoFocus
          value={secret}
          onChange={(event) => setSecret(event.target.value)}
        />
      </label>
      <label>
        <span>Name, with a password</span>
        <input
          className="field"
          type="text"
          autoComplete="username"
          spellCheck={false}
          value={user}
          onChange={(event) => setUser(event.target.value)}
        />
      </label>
      <p role="alert">{failure}</p>
      <div className="choices">
        <button type="button" className="button" onClick={() => close(false)}>
          Cancel
        </button>
        <button type="submit" className="button primary">
          Log in
        </button>
      </div>
    </form>
  );
}

export function KeyDialog({ isOpen, close }: KeyDialogProps): ReactNode {
  return (
    <Dialog isOpen={isOpen} title="Log in" onClose={() => close(false)}>
      <KeyForm close={close} />
    </Dialog>
  );
}
