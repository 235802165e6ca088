/** Above the composer, only when there is something in it: questions, to-dos, changed cells. */
import type { JSX } from 'react';
import type { CellChange, PermissionRequested } from '../protocol/generated';
import type { RunState } from '../session/state';
import type { SessionActions } from './actions';
import { count } from './format';
import { Fold } from './parts';
import { Todo } from './Todo';
import { VisibleText, oneLine } from './visible';

export interface StripProps {
  readonly run: RunState | undefined;
  readonly pending: readonly PermissionRequested[];
  readonly actions: SessionActions;
}

export function Strip({ run, pending, actions }: StripProps): JSX.Element | null {
  const todos = run?.todos ?? [];
  const changes = lastChanges(run?.changes ?? []);
  const first = pending[0];
  if (todos.length === 0 && changes.length === 0 && first === undefined) {
    return null;
  }
  return (
    <div className="ak-strip">
      {first === undefined ? null : (
        <div className="ak-row ak-strip-ask">
          <span>{count(pending.length, 'question')} waiting for you</span>
          <span className="ak-grow" />
          <button type="button" className="ak-quiet" onClick={() => actions.showApproval(first.request_id)}>
            Show
          </button>
        </div>
      )}
      <Todo todos={todos} />
      {changes.length === 0 ? null : (
        <Fold
          className="ak-todo"
          summary={
            <span className="ak-line-text">
              <span className="ak-verb">Changed</span> <span>{count(changes.length, 'cell')}</span>
            </span>
          }
        >
          {() => (
            <ul className="ak-plain-list">
              {changes.map(change => (
                <li key={change.cell_id}>
                  <CellLink change={change} actions={actions} />
                </li>
              ))}
            </ul>
          )}
        </Fold>
      )}
    </div>
  );
}

const DONE: Readonly<Record<CellChange['op'], string>> = {
  made: 'Made',
  edited: 'Edited',
  deleted: 'Deleted',
  moved: 'Moved',
  ran: 'Ran'
};

function CellLink({ change, actions }: { change: CellChange; actions: SessionActions }): JSX.Element {
  const words = (
    <>
      <span className="ak-verb">{DONE[change.op]}</span> <VisibleText text={oneLine(change.where)} />{' '}
      <span className="ak-mono ak-faint">
        <VisibleText text={oneLine(change.source_head)} />
      </span>
    </>
  );
  const gone = change.op === 'deleted' || !(actions.can?.('reveal') ?? true);
  return gone ? (
    <span className="ak-cell-link">{words}</span>
  ) : (
    <button
      type="button"
      className="ak-cell-link"
      onClick={() => actions.revealCell(change.cell_id)}
      title="Show this cell"
    >
      {words}
    </button>
  );
}

/** One line a cell: what was made and then edited counts as made. Running alone changes nothing. */
export function lastChanges(changes: readonly CellChange[]): readonly CellChange[] {
  const cells = new Map<string, CellChange>();
  for (const change of changes) {
    if (change.op === 'ran') {
      continue;
    }
    const before = cells.get(change.cell_id);
    if (before?.op === 'made' && change.op === 'deleted') {
      cells.delete(change.cell_id);
    } else {
      cells.set(change.cell_id, before?.op === 'made' ? { ...change, op: 'made' } : change);
    }
  }
  return [...cells.values()];
}
