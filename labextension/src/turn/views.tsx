/** The outputs of ours in a notebook: a turn and a list of skills, drawn by the shared components. */
import { NotebookPanel } from '@jupyterlab/notebook';
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import { ReactWidget } from '@jupyterlab/ui-components';
import type { Message } from '@lumino/messaging';
import type { Widget } from '@lumino/widgets';
import type { JSX } from 'react';
import { SKILLS_MIME, TURN_MIME, type PermissionRequested, type SkillInfo } from '../protocol/generated';
import { runOf, type RunState } from '../session/state';
import type { IKernelSession, ISessionRegistry } from '../tokens';
import { SkillList, Turn } from '../ui';
import { Boundary } from './boundary';
import { guardKeys } from '../ui/keys';
import { storedRun, storedSkills } from './stored';

/** The first widget above that is a `T`. */
export function above<T extends Widget>(
  widget: Widget,
  kind: abstract new (...args: never[]) => T
): T | null {
  for (let at = widget.parent; at; at = at.parent) {
    if (at instanceof kind) {
      return at;
    }
  }
  return null;
}

abstract class OutputView extends ReactWidget implements IRenderMime.IRenderer {
  constructor(protected readonly registry: ISessionRegistry) {
    super();
    this.addClass('ak-output');
    // Single keys of the notebook's command mode (D D, A, X) are not for what has the focus in here.
    guardKeys(this.node);
    registry.changed.connect(this.attachToSession, this);
  }

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    const text = model.data['text/plain'];
    this.fallback = Array.isArray(text) ? text.join('') : typeof text === 'string' ? text : '';
    this.read(model);
    this.attachToSession();
    this.update();
    if (this.isAttached) {
      await this.renderPromise;
    }
  }

  override dispose(): void {
    if (!this.isDisposed) {
      this.registry.changed.disconnect(this.attachToSession, this);
      this.session?.store.changed.disconnect(this.refresh, this);
      super.dispose();
    }
  }

  protected override onAfterAttach(message: Message): void {
    // Only now it is known which notebook this output stands in.
    this.attachToSession();
    super.onAfterAttach(message);
  }

  protected override render(): JSX.Element {
    return <Boundary fallback={this.fallback}>{this.draw()}</Boundary>;
  }

  protected abstract read(model: IRenderMime.IMimeModel): void;
  /** Take what changed in the session; `update` when it shows. */
  protected abstract refresh(): void;
  protected abstract draw(): JSX.Element;
  /** The session when the output stands outside a notebook (a view of its own). */
  protected abstract elsewhere(): IKernelSession | null;

  private attachToSession(): void {
    const panel = above(this, NotebookPanel);
    const session = panel ? this.registry.of(panel) : this.elsewhere();
    if (session !== this.session) {
      this.session?.store.changed.disconnect(this.refresh, this);
      this.session = session;
      session?.store.changed.connect(this.refresh, this);
      this.refresh();
      this.update();
    }
  }

  protected session: IKernelSession | null = null;
  private fallback = '';
}

/** One turn: live from the kernel's store by its run id, else from the data in the output. */
export class TurnView extends OutputView {
  get requests(): readonly PermissionRequested[] {
    return this.pending;
  }

  protected override read(model: IRenderMime.IMimeModel): void {
    this.stored = storedRun(model.data[TURN_MIME]);
    this.choose();
  }

  protected override refresh(): void {
    if (this.choose()) {
      this.update();
    }
  }

  protected override elsewhere(): IKernelSession | null {
    const id = this.stored?.runId;
    const knows = (session: IKernelSession): boolean =>
      id !== undefined && runOf(session.store.state, id) !== null;
    return this.registry.sessions.find(knows) ?? null;
  }

  protected override draw(): JSX.Element {
    const { run, session } = this;
    if (!run) {
      return <pre className="ak-fallback">This output is not a turn that can be shown.</pre>;
    }
    // Without a kernel that knows the run nothing in here can be pressed.
    const actions = this.known ? session?.actions : undefined;
    return <Turn run={run} pending={this.pending} actions={actions} live={this.live} />;
  }

  /** Whether something that is drawn differs from before. */
  private choose(): boolean {
    const state = this.session?.store.state;
    const live = state && this.stored ? runOf(state, this.stored.runId) : null;
    const run = live && live.seq >= (this.stored?.seq ?? 0) ? live : this.stored;
    const pending = (live && state?.pending.filter(item => item.run_id === live.runId)) ?? [];
    const isLive = live !== null && live.end === null && state?.running === live.runId;
    const same =
      run === this.run &&
      isLive === this.live &&
      (live !== null) === this.known &&
      pending.length === this.pending.length &&
      pending.every((item, at) => item === this.pending[at]);
    if (!same) {
      this.run = run;
      this.live = isLive;
      this.known = live !== null;
      this.pending = pending;
    }
    return !same;
  }

  private stored: RunState | null = null;
  private run: RunState | null = null;
  private known = false;
  private live = false;
  private pending: readonly PermissionRequested[] = [];
}

/** The skills that `%skill` lists. They can be run while a kernel of ours is there. */
export class SkillsView extends OutputView {
  protected override read(model: IRenderMime.IMimeModel): void {
    this.skills = storedSkills(model.data[SKILLS_MIME]);
  }

  protected override refresh(): void {
    const ready = this.session?.store.state.connection === 'ready';
    if (ready !== this.ready) {
      this.ready = ready;
      this.update();
    }
  }

  protected override elsewhere(): IKernelSession | null {
    return null;
  }

  protected override draw(): JSX.Element {
    return <SkillList skills={this.skills} actions={this.ready ? this.session?.actions : undefined} />;
  }

  private skills: readonly SkillInfo[] = [];
  private ready = false;
}
