/** Calls the person to questions that stand where they are not looking, and counts all that wait. */
import { Notification } from '@jupyterlab/apputils';
import { PathExt } from '@jupyterlab/coreutils';
import type { IAgentPanel, IApprovalSight, IKernelSession, ISessionRegistry } from '../tokens';
import type { PermissionRequested } from '../protocol/generated';

/** Milliseconds a card gets to be drawn before it is looked for. */
const DRAWN = 400;

export class ApprovalCaller {
  constructor(
    private readonly registry: ISessionRegistry,
    private readonly sight: IApprovalSight,
    private readonly panel: IAgentPanel,
    private readonly onCount: (count: number) => void
  ) {
    registry.changed.connect(this.watch, this);
    this.watch();
  }

  /** Bring the question into sight: in its cell, else in the panel. */
  show(session: IKernelSession, requestId: string): void {
    if (!this.sight.show(requestId)) {
      const request = session.store.state.pending.find(item => item.request_id === requestId);
      const run = session.store.state.runs.find(item => item.runId === request?.run_id);
      if (run?.cellId != null) {
        session.actions.revealCell(run.cellId);
      }
      this.panel.show();
    }
  }

  private watch(): void {
    for (const session of this.registry.sessions) {
      if (!this.watched.has(session)) {
        this.watched.add(session);
        session.store.changed.connect(() => this.look(session));
        session.approvalWanted.connect((_, requestId) => this.show(session, requestId));
        this.look(session);
      }
    }
    this.tidy();
  }

  private look(session: IKernelSession): void {
    for (const request of session.store.state.pending) {
      if (!this.known.has(request.request_id)) {
        this.known.set(request.request_id, null);
        setTimeout(() => this.call(session, request), DRAWN);
      }
    }
    this.tidy();
  }

  /** Forget what is answered, with its notification; count the rest. */
  private tidy(): void {
    const waiting = new Set(
      this.registry.sessions.flatMap(session =>
        session.store.state.pending.map(request => request.request_id)
      )
    );
    for (const [requestId, notification] of this.known) {
      if (!waiting.has(requestId)) {
        this.known.delete(requestId);
        if (notification !== null) {
          Notification.dismiss(notification);
        }
      }
    }
    this.onCount(waiting.size);
  }

  private call(session: IKernelSession, request: PermissionRequested): void {
    const id = request.request_id;
    if (!this.known.has(id) || this.isSeen(session, id)) {
      return;
    }
    const name = session.panel ? PathExt.basename(session.panel.context.path) : 'a notebook';
    const notification = Notification.warning(`${name} waits for your approval: ${request.title}`, {
      autoClose: false,
      actions: [{ label: 'Show', callback: () => this.show(session, id) }]
    });
    this.known.set(id, notification);
  }

  private isSeen(session: IKernelSession, requestId: string): boolean {
    const inPanel =
      document.visibilityState === 'visible' &&
      this.panel.isVisible &&
      this.registry.current === session;
    return inPanel || this.sight.isInSight(requestId);
  }

  private readonly watched = new WeakSet<IKernelSession>();
  /** Question → its notification, if one was shown. */
  private readonly known = new Map<string, string | null>();
}
