/** What the plugins of this extension share. */
import type { NotebookPanel } from '@jupyterlab/notebook';
import { Token } from '@lumino/coreutils';
import type { ISignal } from '@lumino/signaling';
import type { SessionState } from './session/state';
import type { SessionActions } from './ui';

/** The state of one kernel's session as the views see it. */
export interface ISessionStore {
  readonly state: SessionState;
  /** At most about 15 times a second, however many events come. */
  readonly changed: ISignal<ISessionStore, SessionState>;
}

/** One kernel with the page's connection to its agent. */
export interface IKernelSession {
  readonly kernelId: string;
  readonly store: ISessionStore;
  readonly actions: SessionActions;
  /** The open notebook of this kernel that had the focus last. */
  readonly panel: NotebookPanel | null;
  /** A view asks to bring the question with this id into sight. */
  readonly approvalWanted: ISignal<IKernelSession, string>;
}

/** All kernels of the open notebooks. */
export interface ISessionRegistry {
  /** The session of a notebook's kernel; null while it has none. */
  of(panel: NotebookPanel): IKernelSession | null;
  /** Every session, in the order in which its kernel was met. */
  readonly sessions: readonly IKernelSession[];
  /** A notebook got another kernel, was opened or closed; or another one has the focus. */
  readonly changed: ISignal<ISessionRegistry, void>;
  /** The notebook that has, or last had, the focus. */
  readonly currentPanel: NotebookPanel | null;
  readonly current: IKernelSession | null;
}

export const ISessionRegistry = new Token<ISessionRegistry>(
  'jupyter-agent-kernel:ISessionRegistry',
  'The agent sessions of the kernels of all open notebooks.'
);

/** Where pending approvals can be seen now. */
export interface IApprovalSight {
  /** Whether a person who looks at this page sees the question. */
  isInSight(requestId: string): boolean;
  /** Bring it into sight in its cell; false if no cell shows it. */
  show(requestId: string): boolean;
}

export const IApprovalSight = new Token<IApprovalSight>(
  'jupyter-agent-kernel:IApprovalSight',
  'Tells which approvals stand in a cell that can be seen.'
);

/** The side panel. */
export interface IAgentPanel {
  readonly isVisible: boolean;
  /** Open it and give it the focus. */
  show(): void;
}

export const IAgentPanel = new Token<IAgentPanel>(
  'jupyter-agent-kernel:IAgentPanel',
  'The side panel with the conversation of the active notebook.'
);
