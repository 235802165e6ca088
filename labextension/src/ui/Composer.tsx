/** Where the person writes. Enter sends, Shift+Enter breaks the line, `/` and `@` complete. */
import { useCallback, useId, useLayoutEffect, useRef, useState } from 'react';
import type { JSX, KeyboardEvent } from 'react';
import type { SkillInfo } from '../protocol/generated';
import type { SessionActions } from './actions';
import { commandOf, isReference, NO_OFFERS, skillOffers } from './completion';
import type { Offers } from './completion';
import { useRequest } from './parts';

export interface ComposerProps {
  readonly actions: SessionActions;
  readonly skills: readonly SkillInfo[];
  readonly running: boolean;
  readonly disabled: boolean;
  /** What a command answered, to be shown in the conversation. */
  readonly onAnswer: (text: string) => void;
}

export function Composer({ actions, skills, running, disabled, onAnswer }: ComposerProps): JSX.Element {
  const id = useId();
  const area = useRef<HTMLTextAreaElement>(null);
  const [text, setText] = useState('');
  const [offers, setOffers] = useState<Offers>(NO_OFFERS);
  const [chosen, setChosen] = useState(0);
  const asked = useRef(0);
  const { busy, problem, run } = useRequest();

  useLayoutEffect(() => {
    const element = area.current;
    if (element !== null) {
      element.style.height = 'auto';
      element.style.height = `${element.scrollHeight + 2}px`;
    }
  }, [text]);

  const look = useCallback(
    (value: string, cursor: number) => {
      const ticket = ++asked.current;
      setChosen(0);
      setOffers(skillOffers(value, cursor, skills));
      if (isReference(value, cursor)) {
        void actions.complete(value, cursor).then(
          found => {
            if (ticket === asked.current) {
              const matches = found.matches.slice(0, 8).map(insert => ({ insert, detail: '' }));
              setOffers({ start: found.start, end: found.end, offers: matches });
            }
          },
          () => undefined
        );
      }
    },
    [actions, skills]
  );

  const close = useCallback(() => {
    asked.current++;
    setOffers(NO_OFFERS);
  }, []);

  const accept = (at: number): void => {
    const offer = offers.offers[at];
    if (offer === undefined) {
      return;
    }
    const before = text.slice(0, offers.start) + offer.insert;
    setText(before + text.slice(offers.end).replace(/^ /, offer.insert.endsWith(' ') ? '' : ' '));
    close();
    area.current?.focus();
    queueMicrotask(() => area.current?.setSelectionRange(before.length, before.length));
  };

  const send = (): void => {
    const words = text.trim();
    if (words === '' || busy || disabled) {
      return;
    }
    close();
    const command = commandOf(words);
    void run(async () => {
      if (command === null) {
        await actions.prompt(words);
      } else {
        const answer = await actions.command(command.name, command.args);
        if (answer.text) {
          onAnswer(answer.text);
        }
      }
    }).then(done => {
      if (done) {
        // What was typed meanwhile stays.
        setText(now => (now.trim() === words ? '' : now));
      }
    });
  };

  const open = offers.offers.length > 0;
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>): void => {
    // Enter that ends an input method's composition is not ours.
    if (event.nativeEvent.isComposing) {
      return;
    }
    if (open) {
      const count = offers.offers.length;
      if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
        setChosen((chosen + (event.key === 'ArrowDown' ? 1 : count - 1)) % count);
      } else if (event.key === 'Tab' || (event.key === 'Enter' && !event.shiftKey)) {
        accept(chosen);
      } else if (event.key === 'Escape') {
        close();
      } else {
        return;
      }
      event.preventDefault();
      event.stopPropagation();
    } else if (event.key === 'Enter' && !event.shiftKey && !event.altKey) {
      event.preventDefault();
      send();
    }
  };

  return (
    <div className="ak-composer" data-lm-suppress-shortcuts>
      {open ? (
        <ul className="ak-offers" role="listbox" id={`${id}list`} aria-label="Completions">
          {offers.offers.map((offer, at) => (
            <li
              key={offer.insert}
              id={`${id}offer${at}`}
              role="option"
              aria-selected={at === chosen}
              onMouseDown={event => {
                event.preventDefault();
                accept(at);
              }}
            >
              <span className="ak-mono">{offer.insert.trim()}</span>
              {offer.detail ? <span className="ak-note">{offer.detail}</span> : null}
            </li>
          ))}
        </ul>
      ) : null}
      <textarea
        ref={area}
        className="ak-input ak-compose"
        rows={1}
        value={text}
        disabled={disabled}
        aria-label="Message to the agent"
        aria-describedby={`${id}hint`}
        role="combobox"
        aria-expanded={open}
        aria-controls={open ? `${id}list` : undefined}
        aria-activedescendant={open ? `${id}offer${chosen}` : undefined}
        aria-autocomplete="list"
        placeholder={running ? 'Add something' : 'Ask, or / for skills'}
        onChange={event => {
          setText(event.target.value);
          look(event.target.value, event.target.selectionStart);
        }}
        onKeyDown={onKeyDown}
        onBlur={close}
      />
      <div className="ak-composer-foot">
        <span className="ak-note" id={`${id}hint`}>
          {running ? 'will be seen at the next step' : 'Enter sends'}
        </span>
        {running ? (
          <button
            type="button"
            className="ak-button ak-stop-button"
            onClick={() => void actions.stop().catch(() => undefined)}
          >
            <span className="ak-stop-square" aria-hidden="true" />
            Stop
          </button>
        ) : null}
        <button
          type="button"
          className="ak-button ak-primary"
          disabled={disabled || busy || text.trim() === ''}
          onClick={send}
        >
          Send
        </button>
      </div>
      {problem ? (
        <p className="ak-problem" role="alert">
          {problem}
        </p>
      ) : null}
    </div>
  );
}
