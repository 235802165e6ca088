/** The state of one kernel's session, fed by its client; tells views at a bearable rate. */
import type { IDisposable } from '@lumino/disposable';
import { Signal, type ISignal } from '@lumino/signaling';
import type { EventParams, HelloResult, RunSnapshot } from '../protocol/generated';
import type { ISessionStore } from '../tokens';
import type { SessionClient } from './client';
import { applyEvent, fromHello, fromSnapshot, withRun } from './reducer';
import { EMPTY_SESSION, runOf, type SessionState } from './state';

/** Milliseconds between two paints: 15 a second. */
const PAINT = 66;

export class SessionStore implements ISessionStore, IDisposable {
  get state(): SessionState {
    return this._state;
  }

  get changed(): ISignal<this, SessionState> {
    return this._changed;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  /** Follow this client from now on; an earlier one is let go. The state stays until it greets. */
  follow(client: SessionClient): void {
    this.leave();
    this.client = client;
    client.connectionChanged.connect(this.onConnection, this);
    client.greeted.connect(this.onGreeted, this);
    client.event.connect(this.onEvent, this);
    client.resumed.connect(this.onResumed, this);
    this.onConnection(client, client.connection);
  }

  /** Change the state by a pure function. Views hear of it with the next paint. */
  update(change: (state: SessionState) => SessionState): void {
    const next = change(this._state);
    if (next !== this._state && !this._isDisposed) {
      this._state = next;
      this.schedule();
      this.fillGaps();
    }
  }

  dispose(): void {
    if (!this._isDisposed) {
      this._isDisposed = true;
      this.leave();
      clearTimeout(this.timer);
      Signal.clearData(this);
    }
  }

  private leave(): void {
    this.client?.connectionChanged.disconnect(this.onConnection, this);
    this.client?.greeted.disconnect(this.onGreeted, this);
    this.client?.event.disconnect(this.onEvent, this);
    this.client?.resumed.disconnect(this.onResumed, this);
    this.client = null;
  }

  private onConnection(client: SessionClient, connection: SessionState['connection']): void {
    // `ready` comes with the hello's answer, so that views never see an empty ready session.
    if (connection !== 'ready' || this._state.connection === 'connecting') {
      if (connection !== 'ready' || this.greetedBy === client) {
        this.update(state => ({ ...state, connection, pending: live(connection, state) }));
      }
    }
  }

  private onGreeted(client: SessionClient, hello: HelloResult): void {
    this.greetedBy = client;
    this.update(() => fromHello(hello));
  }

  private onEvent(_: SessionClient, params: EventParams): void {
    this.update(state => applyEvent(state, params));
  }

  private onResumed(): void {
    void this.refresh();
  }

  /** Ask for everything: the socket was away. */
  private async refresh(): Promise<void> {
    try {
      const snapshot = await this.client?.request('snapshot', {});
      if (snapshot) {
        this.update(state => fromSnapshot(snapshot, state));
      }
    } catch (error) {
      console.warn('agent-kernel: no snapshot', error);
    }
  }

  private fillGaps(): void {
    for (const runId of this._state.gaps) {
      if (!this.asked.has(runId)) {
        this.asked.add(runId);
        void this.fillGap(runId).finally(() => {
          this.asked.delete(runId);
          // A run that got another gap meanwhile.
          this.fillGaps();
        });
      }
    }
  }

  private async fillGap(runId: string): Promise<void> {
    const close = (state: SessionState): SessionState => ({
      ...state,
      gaps: state.gaps.filter(id => id !== runId)
    });
    try {
      // Twice at most: events may have overtaken the snapshot that was to mend them.
      for (let attempt = 0; attempt < 2; attempt++) {
        const snapshot = await this.client?.request('snapshot', { run_id: runId });
        const run = snapshot?.runs.find(item => item.run_id === runId);
        if (!snapshot || !run) {
          break;
        }
        if (!isOlder(run, this._state)) {
          // What is on now may have begun while we were not told.
          const { running, pending } = snapshot;
          this.update(state => ({ ...withRun(state, run), running, pending }));
          return;
        }
      }
    } catch (error) {
      console.warn('agent-kernel: no snapshot of a run', error);
    }
    this.update(close);
  }

  private schedule(): void {
    if (this.timer === undefined) {
      const wait = Math.max(0, this.painted + PAINT - performance.now());
      this.timer = setTimeout(() => this.paint(), wait);
    }
  }

  private paint(): void {
    this.timer = undefined;
    this.painted = performance.now();
    this._changed.emit(this._state);
  }

  private _state: SessionState = EMPTY_SESSION;
  private _isDisposed = false;
  private client: SessionClient | null = null;
  private greetedBy: SessionClient | null = null;
  private readonly asked = new Set<string>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private painted = 0;
  private readonly _changed = new Signal<this, SessionState>(this);
}

function isOlder(run: RunSnapshot, state: SessionState): boolean {
  const known = runOf(state, run.run_id);
  return known !== null && known.seq > run.seq;
}

/** A question that no live kernel waits for cannot be answered. */
function live(
  connection: SessionState['connection'],
  state: SessionState
): SessionState['pending'] {
  return connection === 'ready' || connection === 'connecting' ? state.pending : [];
}
