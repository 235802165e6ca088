import type { JSX } from 'react';
import type { PermissionRequested } from '../protocol/generated';
import type { RunState } from '../session/state';
import type { SessionActions } from './actions';

export interface TurnProps {
  readonly run: RunState;
  /** What the live kernel waits for; only these get buttons. */
  readonly pending?: readonly PermissionRequested[];
  /** Absent where there is no kernel: then nothing has a button. */
  readonly actions?: SessionActions | undefined;
  /** Whether the run may still grow. */
  readonly live?: boolean;
  /** Draw the prompt above the turn (the panel; a cell already shows it). */
  readonly showPrompt?: boolean;
}

/** One turn of the agent, in a cell and in the panel. */
export function Turn({ run }: TurnProps): JSX.Element {
  return <div className="ak-turn">{run.answer}</div>;
}
