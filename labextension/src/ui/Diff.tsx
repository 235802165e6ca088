import { memo, useMemo, useState } from 'react';
import type { JSX } from 'react';
import { changedLines, diffLines, hunks } from './lineDiff';
import type { DiffLine } from './lineDiff';
import { count } from './format';
import { CopyButton } from './parts';
import { VisibleText, oneLine } from './visible';

export interface DiffProps {
  /** Null: there was nothing before. */
  readonly old: string | null;
  readonly new: string;
  /** What is compared: a path, or where the cell stands. */
  readonly title: string;
}

const SIGNS = { same: ' ', added: '+', removed: '−' } as const;
const SAID = { same: '', added: 'added: ', removed: 'removed: ' } as const;

/** Old and new, line by line. Changed lines are always shown; only equal ones fold. */
export const Diff = memo(function Diff({ old, new: now, title }: DiffProps): JSX.Element {
  const lines = useMemo(() => diffLines(old ?? '', now), [old, now]);
  const parts = useMemo(() => hunks(lines), [lines]);
  const { added, removed } = useMemo(() => changedLines(lines), [lines]);
  return (
    <figure className="ak-diff">
      <figcaption className="ak-code-bar">
        <span className="ak-diff-title">
          <VisibleText text={oneLine(title)} strict />
          {old === null ? <span className="ak-badge">new</span> : null}
        </span>
        <span className="ak-diff-sum" aria-label={`${added} added, ${removed} removed`}>
          <span className="ak-added">+{added}</span> <span className="ak-removed">−{removed}</span>
        </span>
        <CopyButton text={now} what="the new text" />
      </figcaption>
      <div className="ak-diff-lines" role="table" aria-label={`Changes of ${title}`} tabIndex={0}>
        {lines.length === 0 ? <div className="ak-diff-empty">Empty before and after.</div> : null}
        {old !== null && old !== '' && now !== '' && old.endsWith('\n') !== now.endsWith('\n') ? (
          <div className="ak-diff-empty">
            {now.endsWith('\n') ? 'Adds a line feed at the end.' : 'Removes the line feed at the end.'}
          </div>
        ) : null}
        {parts.map((part, at) =>
          part.kind === 'folded' ? (
            <Folded key={at} lines={part.lines} />
          ) : (
            <Lines key={at} lines={part.lines} />
          )
        )}
      </div>
    </figure>
  );
});

function Folded({ lines }: { lines: readonly DiffLine[] }): JSX.Element {
  const [open, setOpen] = useState(false);
  return open ? (
    <Lines lines={lines} />
  ) : (
    <button type="button" className="ak-more" onClick={() => setOpen(true)}>
      {count(lines.length, 'unchanged line')}
    </button>
  );
}

function Lines({ lines }: { lines: readonly DiffLine[] }): JSX.Element {
  return (
    <>
      {lines.map((line, at) => (
        <div key={at} role="row" className={`ak-diff-line ak-${line.op}`}>
          <span role="cell" className="ak-diff-number" aria-hidden="true">
            {line.newNumber ?? line.oldNumber}
          </span>
          <span role="cell" className="ak-diff-sign" aria-hidden="true">
            {SIGNS[line.op]}
          </span>
          <span role="cell" className="ak-diff-text">
            <span className="ak-sr">{SAID[line.op]}</span>
            <VisibleText text={line.text} strict />
          </span>
        </div>
      ))}
    </>
  );
}
