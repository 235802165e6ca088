import type { JSX } from 'react';
import type { SessionState } from '../session/state';
import type { SessionActions } from './actions';

export interface PanelProps {
  readonly state: SessionState;
  readonly actions: SessionActions;
  /** Null: no notebook is open. */
  readonly notebookName: string | null;
  /** Up to three prompts that fit *this* notebook, shown while the conversation is empty. */
  readonly suggestions?: readonly string[] | undefined;
  /** Names of models to choose from; the current one is always offered. */
  readonly models?: readonly string[] | undefined;
  /** Share of the context window in use, 0 to 1; absent: unknown. */
  readonly contextUsed?: number | undefined;
  /** A short error of the host ("The kernel did not answer"). */
  readonly problem?: string | undefined;
}

/** The side panel: the conversation of one notebook's kernel. */
export function Panel({ notebookName }: PanelProps): JSX.Element {
  return <div className="ak-panel">{notebookName}</div>;
}
