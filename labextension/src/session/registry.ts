/** Follows the open notebooks: each kernel gets one client and one store, shared by its panels. */
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import type { Kernel } from '@jupyterlab/services';
import { PathExt } from '@jupyterlab/coreutils';
import { Signal, type ISignal } from '@lumino/signaling';
import { NotebookBridge } from '../notebook/bridge';
import { nameSession, namedSession } from '../notebook/metadata';
import type { HelloParams } from '../protocol/generated';
import { PROTOCOL } from '../protocol/generated';
import type { IKernelSession, ISessionRegistry } from '../tokens';
import type { SessionActions } from '../ui';
import { createActions } from './actions';
import { SessionClient } from './client';
import { SessionStore } from './store';

export interface IRegistryOptions {
  tracker: INotebookTracker;
  /** "JupyterLab 4.6.6": what the kernel writes into its logs. */
  clientName: string;
  version: string;
  /** Make a notebook's tab the active one. */
  activate: (panel: NotebookPanel) => void;
}

const LOAD = '%load_ext agent_kernel';

export class SessionRegistry implements ISessionRegistry {
  constructor(private readonly options: IRegistryOptions) {
    const { tracker } = options;
    tracker.forEach(panel => this.watch(panel));
    tracker.widgetAdded.connect((_, panel) => this.watch(panel));
    tracker.currentChanged.connect((_, panel) => {
      if (panel) {
        this.focused(panel);
      }
      this._changed.emit();
    });
    window.addEventListener('pagehide', () => this.byKernel.forEach(session => session.bye()));
  }

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get sessions(): readonly KernelSession[] {
    return [...this.byKernel.values()];
  }

  get currentPanel(): NotebookPanel | null {
    return this.options.tracker.currentWidget;
  }

  get current(): KernelSession | null {
    return this.currentPanel && this.of(this.currentPanel);
  }

  of(panel: NotebookPanel): KernelSession | null {
    const kernel = panel.sessionContext.session?.kernel;
    return (kernel && this.byKernel.get(kernel.id)) ?? null;
  }

  private watch(panel: NotebookPanel): void {
    const { sessionContext } = panel;
    let last: string | null = null;
    const follow = (): void => {
      const kernel = panel.isDisposed ? null : (sessionContext.session?.kernel ?? null);
      if (last !== null && last !== kernel?.id) {
        this.leave(last, panel);
      }
      last = kernel?.id ?? null;
      if (kernel) {
        this.join(kernel, panel);
      }
      this._changed.emit();
    };
    sessionContext.kernelChanged.connect(follow);
    panel.context.pathChanged.connect(() => this.of(panel)?.greet());
    panel.context.saveState.connect((_, state) => {
      if (state === 'started') {
        this.of(panel)?.nameIn(panel);
      }
    });
    panel.disposed.connect(() => {
      if (last !== null) {
        this.leave(last, panel);
        last = null;
        this._changed.emit();
      }
    });
    follow();
  }

  private join(kernel: Kernel.IKernelConnection, panel: NotebookPanel): void {
    let session = this.byKernel.get(kernel.id);
    if (!session) {
      session = new KernelSession(kernel.id, this.options);
      this.byKernel.set(kernel.id, session);
    }
    session.add(panel, kernel);
  }

  private leave(kernelId: string, panel: NotebookPanel): void {
    const session = this.byKernel.get(kernelId);
    if (session && session.remove(panel) === 0) {
      this.byKernel.delete(kernelId);
      session.dispose();
    }
  }

  private focused(panel: NotebookPanel): void {
    this.of(panel)?.focus(panel);
  }

  private readonly byKernel = new Map<string, KernelSession>();
  private readonly _changed = new Signal<this, void>(this);
}

export class KernelSession implements IKernelSession {
  constructor(
    readonly kernelId: string,
    private readonly options: IRegistryOptions
  ) {
    this.bridge = new NotebookBridge(() => this.panel);
    this.actions = createActions(this.store, {
      client: () => this.client,
      revealCell: cellId => {
        if (this.panel) {
          options.activate(this.panel);
          void this.bridge.reveal(cellId, true).catch(() => undefined);
        }
      },
      showApproval: requestId => this._approvalWanted.emit(requestId),
      turnOn: () => this.turnOn()
    });
    this.store.changed.connect(() => this.afterRestart());
  }

  readonly store = new SessionStore();
  readonly actions: SessionActions;

  get approvalWanted(): ISignal<this, string> {
    return this._approvalWanted;
  }

  get panel(): NotebookPanel | null {
    return this.panels.at(-1) ?? null;
  }

  add(panel: NotebookPanel, kernel: Kernel.IKernelConnection): void {
    if (!this.panels.includes(panel)) {
      // The one that has the focus stays the one that counts.
      this.panels.unshift(panel);
    }
    if (!this.client || this.client.isDisposed || this.client.kernel.isDisposed) {
      this.use(kernel);
    }
  }

  /** The number of panels that are left. */
  remove(panel: NotebookPanel): number {
    this.panels = this.panels.filter(other => other !== panel);
    const next = this.panel?.sessionContext.session?.kernel;
    if (next && this.client?.kernel.isDisposed !== false) {
      this.use(next);
    }
    return this.panels.length;
  }

  focus(panel: NotebookPanel): void {
    if (this.panels.includes(panel) && this.panel !== panel) {
      this.panels = [...this.panels.filter(other => other !== panel), panel];
      this.greet();
    }
  }

  /** Before a save: the notebook names the conversation that is held in it. */
  nameIn(panel: NotebookPanel): void {
    const { sessionId, runs } = this.store.state;
    if (sessionId !== '' && runs.length > 0) {
      nameSession(panel, sessionId);
    }
  }

  greet(): void {
    this.client?.greet();
  }

  bye(): void {
    const dirty = this.panels.some(panel => panel.context.model.dirty);
    this.client?.bye(dirty);
  }

  dispose(): void {
    this.client?.bye(false);
    this.client?.dispose();
    this.store.dispose();
    Signal.clearData(this);
  }

  /** Load the extension into the kernel, now and after each restart while this page lives. */
  private async turnOn(): Promise<void> {
    const kernel = this.panel?.sessionContext.session?.kernel;
    if (!kernel) {
      throw new Error('The notebook has no kernel.');
    }
    const future = kernel.requestExecute({
      code: LOAD,
      silent: true,
      store_history: false,
      allow_stdin: false
    });
    const { content } = await future.done;
    if (content.status === 'error') {
      throw new Error(
        content.ename === 'ModuleNotFoundError'
          ? 'This kernel has no agent_kernel. Install jupyter-agent-kernel in its environment.'
          : `${content.ename}: ${content.evalue}`
      );
    }
    this.turnedOn = true;
    // The bell has done it already, unless the extension was loaded before.
    this.client?.connect();
  }

  private afterRestart(): void {
    const { connection } = this.store.state;
    if (connection === 'ready') {
      this.reloads = 0;
    } else if (connection === 'unavailable' && this.turnedOn && this.reloads === 0) {
      this.reloads++;
      this.turnOn().catch((error: unknown) => console.warn('agent-kernel:', error));
    }
  }

  private use(kernel: Kernel.IKernelConnection): void {
    this.client?.dispose();
    this.client = new SessionClient(kernel, {
      handlers: this.bridge.handlers,
      hello: () => this.hello()
    });
    this.store.follow(this.client);
    this.client.connect();
  }

  private hello(): HelloParams {
    const path = this.panel?.context.path ?? null;
    return {
      client: this.options.clientName,
      version: this.options.version,
      protocol: PROTOCOL,
      notebook_path: path === null ? null : PathExt.normalize(path),
      session_id: this.panel && namedSession(this.panel),
      capabilities: ['notebook', 'approvals', 'run']
    };
  }

  /** The last one counts. */
  private panels: NotebookPanel[] = [];
  private client: SessionClient | null = null;
  private turnedOn = false;
  private reloads = 0;
  private readonly _approvalWanted = new Signal<this, string>(this);
  private readonly bridge: NotebookBridge;
}
