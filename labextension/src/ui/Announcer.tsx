/** What a screen reader is told while a turn goes on: questions at once, sentences as they end. */
import { useEffect, useRef, useState } from 'react';
import type { JSX } from 'react';
import type { PermissionRequested } from '../protocol/generated';
import type { RunState } from '../session/state';
import { spoken } from './visible';
import { endWords } from './words';

export interface AnnouncerProps {
  readonly run: RunState;
  readonly pending: readonly PermissionRequested[];
  readonly growing: boolean;
}

/** Long enough that a stream is read in pieces of speech, not of letters. */
const PAUSE_MS = 1200;

export function Announcer({ run, pending, growing }: AnnouncerProps): JSX.Element {
  const said = useRef({ key: '', length: 0 });
  const wasGrowing = useRef(growing);
  const [words, setWords] = useState('');
  const last = run.items[run.items.length - 1];

  useEffect(() => {
    if (last?.kind !== 'text') {
      return undefined;
    }
    if (!wasGrowing.current) {
      // Shown from a file or after a reload: old text is no news.
      said.current = { key: last.key, length: last.text.length };
      return undefined;
    }
    const timer = setTimeout(
      () => {
        const from = said.current.key === last.key ? said.current.length : 0;
        setWords(last.text.slice(from));
        said.current = { key: last.key, length: last.text.length };
      },
      growing ? PAUSE_MS : 0
    );
    return () => clearTimeout(timer);
  }, [last, growing]);

  const end = wasGrowing.current && run.end !== null ? (endWords(run.end)?.title ?? 'The turn is done') : '';
  const question = pending[0];
  return (
    <div className="ak-sr">
      <div aria-live="polite">{words}</div>
      <div aria-live="polite">{end}</div>
      <div role="alert" aria-live="assertive">
        {question === undefined ? '' : `${spoken(question.title)} Waiting for your answer.`}
      </div>
    </div>
  );
}
