/** What the panel says when there is no conversation to show, or something is amiss. */
import { useId, useState } from 'react';
import type { JSX } from 'react';
import type { SessionSummary } from '../protocol/generated';
import type { SessionActions } from './actions';
import { useRequest } from './parts';

interface WithActions {
  readonly actions: SessionActions;
}

export function TurnOn({ actions }: WithActions): JSX.Element {
  const { busy, problem, run } = useRequest();
  return (
    <div className="ak-state">
      <p>
        <strong>The agent is off in this notebook.</strong>
      </p>
      <p>Turning it on loads the extension agent_kernel into this kernel, now and after each restart.</p>
      <button
        type="button"
        className="ak-button ak-primary"
        disabled={busy}
        onClick={() => void run(() => actions.turnOn())}
      >
        {busy ? 'Turning on…' : 'Turn on here'}
      </button>
      {problem ? (
        <p className="ak-problem" role="alert">
          {problem}
        </p>
      ) : null}
    </div>
  );
}

/** No model is set: a field and two lines. */
export function SetKey({ actions }: WithActions): JSX.Element {
  const id = useId();
  const [key, setKey] = useState('');
  const [saved, setSaved] = useState(false);
  const { busy, problem, run } = useRequest();
  return (
    <form
      className="ak-state ak-key"
      onSubmit={event => {
        event.preventDefault();
        void run(() => actions.set({ api_key: key.trim() })).then(done => {
          if (done) {
            setKey('');
            setSaved(true);
          }
        });
      }}
    >
      <label htmlFor={id}>
        <strong>No model is set.</strong> Answers come from a script, not from a model.
      </label>
      <div className="ak-row">
        <input
          id={id}
          type="password"
          className="ak-input ak-mono"
          placeholder="API key"
          aria-label="API key"
          autoComplete="off"
          spellCheck={false}
          value={key}
          onChange={event => setKey(event.target.value)}
        />
        <button type="submit" className="ak-button" disabled={busy || key.trim() === ''}>
          Save
        </button>
      </div>
      <p className="ak-note">
        Or set <code>ANTHROPIC_API_KEY</code>, or <code>ANTHROPIC_BASE_URL</code> for a server of your own, before
        the kernel starts.
      </p>
      {saved && problem === '' ? (
        <p className="ak-note" role="status">
          Saved. The next turn uses it.
        </p>
      ) : null}
      {problem ? (
        <p className="ak-problem" role="alert">
          {problem}
        </p>
      ) : null}
    </form>
  );
}

const ANY_NOTEBOOK = ['Explain what this notebook does', 'What is in memory?', 'Find problems in this notebook'];

export interface EmptyProps extends WithActions {
  readonly suggestions: readonly string[] | undefined;
}

/** Three things it can do with this notebook. */
export function Empty({ actions, suggestions }: EmptyProps): JSX.Element {
  const { busy, problem, run } = useRequest();
  const offers = suggestions !== undefined && suggestions.length > 0 ? suggestions : ANY_NOTEBOOK;
  return (
    <div className="ak-state ak-empty">
      <p>It can read, change and run the cells of this notebook, and asks first.</p>
      <ul className="ak-plain-list">
        {offers.slice(0, 3).map(text => (
          <li key={text}>
            <button
              type="button"
              className="ak-suggestion"
              disabled={busy}
              onClick={() => void run(() => actions.prompt(text))}
            >
              {text}
            </button>
          </li>
        ))}
      </ul>
      {problem ? (
        <p className="ak-problem" role="alert">
          {problem}
        </p>
      ) : null}
    </div>
  );
}

/** The conversation that was held in this notebook before its kernel started. */
export function Offer({ actions, offered }: WithActions & { offered: SessionSummary }): JSX.Element {
  const { busy, problem, run } = useRequest();
  return (
    <div className="ak-state ak-offer">
      <p>
        This notebook has an earlier conversation
        {offered.title ? (
          <>
            : <q>{offered.title}</q>
          </>
        ) : null}
        .
      </p>
      <button
        type="button"
        className="ak-button"
        disabled={busy}
        onClick={() => void run(() => actions.command('resume', offered.session_id))}
      >
        Go on with it
      </button>
      {problem ? (
        <p className="ak-problem" role="alert">
          {problem}
        </p>
      ) : null}
    </div>
  );
}

export function Warning({ children }: { children: string }): JSX.Element {
  return (
    <p className="ak-notice ak-notice-warning" role="status">
      {children}
    </p>
  );
}
