/** Tells the person that a cell they ran waits for the agent's turn to end. */
import { Notification } from '@jupyterlab/apputils';
import type { Cell } from '@jupyterlab/cells';
import { NotebookActions } from '@jupyterlab/notebook';
import type { IKernelSession, ISessionRegistry } from '../tokens';
import { runOf } from '../session/state';

const CLASS = 'ak-queued';
const TEXT = 'Waits until the agent’s turn ends';

/** Marks queued cells beside their prompt, and says it once per turn. */
export function watchQueue(registry: ISessionRegistry): void {
  const told = new Set<string>();
  NotebookActions.executionScheduled.connect((_, { notebook, cell }) => {
    const session = registry.sessions.find(item => item.panel?.content === (notebook));
    const running = session?.store.state.running;
    const run = session && running != null ? runOf(session.store.state, running) : null;
    if (!session || !run?.cellId || run.cellId === cell.model.id) {
      return;
    }
    mark(session, run.runId, cell);
    if (!told.has(run.runId)) {
      told.add(run.runId);
      Notification.info('The cell waits until the agent’s turn ends.', { autoClose: 4000 });
    }
  });
}

function mark(session: IKernelSession, runId: string, cell: Cell): void {
  cell.addClass(CLASS);
  cell.node.setAttribute('data-ak-queued', TEXT);
  const unmark = (): void => {
    if (session.store.state.running !== runId) {
      session.store.changed.disconnect(unmark);
      cell.removeClass(CLASS);
      cell.node.removeAttribute('data-ak-queued');
    }
  };
  session.store.changed.connect(unmark);
}
