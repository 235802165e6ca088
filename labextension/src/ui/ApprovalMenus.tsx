/** What opens under *Always allow* and *Deny*. */
import { useEffect, useId, useRef, useState } from 'react';
import type { JSX } from 'react';
import type { AnswerParams, Decision, PermissionRequested, RuleDestination } from '../protocol/generated';
import { DECISIONS, DESTINATIONS } from './words';

type Answer = (decision: Decision, more?: Partial<AnswerParams>) => void;

const LASTING: readonly RuleDestination[] = ['local', 'project', 'user'];

export interface AlwaysAllowProps {
  readonly request: PermissionRequested;
  readonly disabled: boolean;
  readonly answer: Answer;
}

/** The rule that would be saved, to be read and changed before it is. */
export function AlwaysAllow({ request, disabled, answer }: AlwaysAllowProps): JSX.Element {
  const id = useId();
  const suggested = request.suggestions.find(known => known.destination !== 'session') ?? request.suggestions[0];
  const [rule, setRule] = useState(suggested?.rule ?? '');
  const [destination, setDestination] = useState<RuleDestination>(
    suggested !== undefined && suggested.destination !== 'session' ? suggested.destination : 'local'
  );
  const save = (): void => answer('allow_always', { rule: rule.trim(), destination });
  return (
    <div className="ak-menu" role="group" aria-label="The rule to save">
      <label className="ak-field" htmlFor={`${id}rule`}>
        <span>Rule</span>
        <input
          id={`${id}rule`}
          className="ak-input ak-mono"
          value={rule}
          spellCheck={false}
          autoComplete="off"
          placeholder={`${request.tool}(…)`}
          onChange={event => setRule(event.target.value)}
        />
      </label>
      <label className="ak-field" htmlFor={`${id}place`}>
        <span>Saved for</span>
        <select
          id={`${id}place`}
          className="ak-input"
          value={destination}
          onChange={event => setDestination(event.target.value as RuleDestination)}
        >
          {LASTING.map(place => (
            <option key={place} value={place}>
              {DESTINATIONS[place]}
            </option>
          ))}
        </select>
      </label>
      <p className="ak-note">
        {suggested === undefined
          ? `No rule is suggested: “${request.tool}” alone would allow everything it can do.`
          : 'What matches this rule is not asked about again.'}
      </p>
      <button type="button" className="ak-button" disabled={disabled || rule.trim() === ''} onClick={save}>
        Save rule and allow
      </button>
    </div>
  );
}

export interface DenyMenuProps {
  readonly askReason: boolean;
  readonly disabled: boolean;
  readonly onAskReason: () => void;
  readonly answer: Answer;
}

export function DenyMenu({ askReason, disabled, onAskReason, answer }: DenyMenuProps): JSX.Element {
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  const [reason, setReason] = useState('');
  useEffect(() => {
    if (askReason) {
      field.current?.focus({ preventScroll: true });
    }
  }, [askReason]);
  if (!askReason) {
    return (
      <div className="ak-menu ak-menu-row" role="group" aria-label="More ways to deny">
        <button type="button" className="ak-button" disabled={disabled} onClick={() => answer('deny_stop')}>
          {DECISIONS.deny_stop}
        </button>
        <button type="button" className="ak-button" disabled={disabled} onClick={onAskReason}>
          Deny with a reason…
        </button>
      </div>
    );
  }
  return (
    <form
      className="ak-menu"
      onSubmit={event => {
        event.preventDefault();
        answer('deny', { reason: reason.trim() });
      }}
    >
      <label className="ak-field" htmlFor={`${id}reason`}>
        <span>Reason, for the model</span>
        <input
          id={`${id}reason`}
          ref={field}
          className="ak-input"
          value={reason}
          onChange={event => setReason(event.target.value)}
        />
      </label>
      <button type="submit" className="ak-button" disabled={disabled}>
        Deny with this reason
      </button>
    </form>
  );
}
