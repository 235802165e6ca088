import type { JSX } from 'react';
import type { TodoItem } from '../protocol/generated';
import type { ToolState } from '../session/state';
import { StateDot } from './icons';
import { Fold } from './parts';
import { VisibleText, oneLine } from './visible';

const STATES: Readonly<Record<TodoItem['status'], ToolState>> = {
  pending: 'writing',
  in_progress: 'running',
  completed: 'ok'
};
const SAID: Readonly<Record<TodoItem['status'], string>> = {
  pending: 'to do',
  in_progress: 'in progress',
  completed: 'done'
};

/** "To-dos · 3 of 7 · Plot the prices"; the list is inside. */
export function Todo({ todos }: { todos: readonly TodoItem[] }): JSX.Element | null {
  if (todos.length === 0) {
    return null;
  }
  const done = todos.filter(todo => todo.status === 'completed').length;
  const current = todos.find(todo => todo.status === 'in_progress');
  return (
    <Fold
      className="ak-todo"
      summary={
        <span className="ak-line-text">
          <span className="ak-verb">To-dos</span>{' '}
          <span>
            {done} of {todos.length}
          </span>
          {current !== undefined ? (
            <span className="ak-faint"> · {oneLine(current.active_form || current.content)}</span>
          ) : null}
        </span>
      }
    >
      {() => (
        <ul className="ak-plain-list">
          {todos.map((todo, at) => (
            <li key={at} className="ak-todo-item">
              <span aria-hidden="true">
                <StateDot state={STATES[todo.status]} />
              </span>
              <span>
                <VisibleText text={oneLine(todo.content)} />
                <span className="ak-sr"> ({SAID[todo.status]})</span>
              </span>
            </li>
          ))}
        </ul>
      )}
    </Fold>
  );
}
