/** The page's end of the wire to one kernel: opens the comm, says hello, comes back after a loss. */
import { CommsOverSubshells, type Kernel, type KernelMessage } from '@jupyterlab/services';
import type { JSONObject } from '@lumino/coreutils';
import type { IDisposable } from '@lumino/disposable';
import { Signal, type ISignal } from '@lumino/signaling';
import {
  BELL_TARGET,
  SESSION_TARGET,
  type EventParams,
  type FrontEndMethods,
  type HelloParams,
  type HelloResult,
  type JsonValue
} from '../protocol/generated';
import { RpcPeer, RpcTimeout, type IRequestOptions, type KernelHandlers } from './rpc';
import { kernelReady } from './shells';
import type { Connection } from './state';

/** Lab's comm has more than its interface says. */
type Comm = Kernel.IComm & {
  readonly subshellStarted?: Promise<void>;
  readonly subshellId?: string | null;
};

/** A subshell that does not come is done without. */
const SUBSHELL_WAIT = 5000;
/** A comm the kernel closed while it lived on is opened once more after this long. */
const REOPEN_AFTER = 1000;
/** On a subshell a hello is answered at once, after the kernel's first imports. */
const HELLO_LIMIT = 20_000;

export interface IClientOptions {
  handlers: KernelHandlers;
  /** Read anew for each hello. */
  hello: () => HelloParams;
}

/** One comm for one kernel connection. Created idle; {@link connect} starts it. */
export class SessionClient implements IDisposable {
  constructor(
    readonly kernel: Kernel.IKernelConnection,
    private readonly options: IClientOptions
  ) {
    kernel.statusChanged.connect(this.onStatus, this);
    kernel.connectionStatusChanged.connect(this.onConnectionStatus, this);
    // The bell: the extension was loaded in the kernel after we tried. It opens a comm only to be
    // heard. Nothing here may wait for the kernel: Lab handles no message until this returns.
    kernel.registerCommTarget(BELL_TARGET, comm => {
      dismiss(comm);
      this.restart();
    });
  }

  get connection(): Connection {
    return this._connection;
  }

  get connectionChanged(): ISignal<this, Connection> {
    return this._connectionChanged;
  }

  /** The kernel answered a hello; its snapshot replaces what was known. */
  get greeted(): ISignal<this, HelloResult> {
    return this._greeted;
  }

  get event(): ISignal<this, EventParams> {
    return this._event;
  }

  /** The socket was away and is back, or another conversation is on: what is known is old. */
  get resumed(): ISignal<this, void> {
    return this._resumed;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  /** Open the comm and say hello, unless that is done or under way. */
  connect(): void {
    if (this.comm === null && !this._isDisposed) {
      void this.open(++this.attempt);
    }
  }

  /**
   * Open a new comm even if there is one. The old one goes when the new one has its subshell: Lab
   * shares it between them, and deletes it with the last of them even if another was just begun.
   */
  restart(): void {
    const old = [...this.retired.splice(0), ...(this.comm ? [this.comm] : [])];
    old.forEach(release);
    this.comm = null;
    this.drop();
    this.retired.push(...old);
    this.connect();
  }

  /** Tell the kernel again what this page shows (another file name, another notebook). */
  greet(): void {
    if (this.peer && this._connection === 'ready') {
      void this.hello(this.peer, this.attempt);
    }
  }

  /** Ask the kernel. Rejects with `RpcError` (its answer) or `RpcTimeout`. */
  request<M extends keyof FrontEndMethods>(
    method: M,
    params: FrontEndMethods[M]['params'],
    options?: IRequestOptions
  ): Promise<FrontEndMethods[M]['result']> {
    return this.peer
      ? this.peer.request(method, params, options)
      : Promise.reject(new RpcTimeout('The kernel is not connected.'));
  }

  /** The page or its last panel of this kernel goes. */
  bye(dirty: boolean): void {
    if (this._connection === 'ready') {
      this.peer?.request('bye', { dirty }).catch(() => undefined);
    }
  }

  dispose(): void {
    if (this._isDisposed) {
      return;
    }
    this._isDisposed = true;
    this.drop();
    this.kernel.statusChanged.disconnect(this.onStatus, this);
    this.kernel.connectionStatusChanged.disconnect(this.onConnectionStatus, this);
    Signal.clearData(this);
  }

  private async open(attempt: number): Promise<void> {
    this.setConnection('connecting');
    const isStale = (): boolean => attempt !== this.attempt || this._isDisposed;
    try {
      await kernelReady(this.kernel);
      if (isStale()) {
        return;
      }
      const comm = this.kernel.createComm(SESSION_TARGET) as Comm;
      this.comm = comm;
      if (this.kernel.supportsSubshells && this.kernel.commsOverSubshells !== CommsOverSubshells.Disabled) {
        await Promise.race([comm.subshellStarted, new Promise(done => setTimeout(done, SUBSHELL_WAIT))]);
        if (isStale()) {
          return;
        }
      }
      this.retired.splice(0).forEach(old => this.close(old));
      const peer = new RpcPeer(
        data => transmit(comm, data),
        this.options.handlers,
        (method, params) => this.onNotification(method, params)
      );
      this.peer = peer;
      comm.onMsg = message => {
        peer.receive(message.content.data);
      };
      comm.onClose = () => this.onClosed(attempt);
      comm.open({});
      await this.hello(peer, attempt);
    } catch (error) {
      if (!isStale()) {
        this.drop();
        this.setConnection('lost');
        console.warn('agent-kernel: no connection to the kernel', error);
      }
    }
  }

  /** No time limit without subshells: such a kernel answers when its cell has ended. */
  private async hello(peer: RpcPeer, attempt: number): Promise<void> {
    const timeout = this.comm?.subshellId == null ? 0 : HELLO_LIMIT;
    try {
      const result = await peer.request('hello', this.options.hello(), { timeout });
      if (attempt === this.attempt && !this._isDisposed) {
        this.reopened = false;
        this.repeated = false;
        this.setConnection('ready');
        this._greeted.emit(result);
      }
    } catch (error) {
      if (!(error instanceof RpcTimeout)) {
        throw error;
      }
      // Closed before it answered: `onClosed` or `drop` has dealt with it. Else the message was
      // lost, as those to a subshell that is gone are.
      if (attempt === this.attempt && !this._isDisposed && !this.repeated) {
        this.repeated = true;
        this.restart();
      }
    }
  }

  private onNotification(method: string, params: { [key: string]: JsonValue }): void {
    if (method === 'event') {
      this._event.emit(params as unknown as EventParams);
    } else if (method === 'session') {
      // Another conversation is on: all that was known of it is to be asked for.
      this._resumed.emit();
    }
  }

  /** The kernel closed the comm: it has no such target, or lets go of us. */
  private onClosed(attempt: number): void {
    if (attempt !== this.attempt || this._isDisposed) {
      return;
    }
    const wasReady = this._connection === 'ready';
    this.drop();
    this.setConnection('unavailable');
    // Asked once per kernel; after that only its bell, or *Turn on here*, makes us ask again.
    if (wasReady && !this.reopened) {
      this.reopened = true;
      setTimeout(() => this.connect(), REOPEN_AFTER);
    }
  }

  private onStatus(_: Kernel.IKernelConnection, status: KernelMessage.Status): void {
    if (status === 'restarting' || status === 'autorestarting') {
      // Lab has dropped the comm; the new process knows nothing of us.
      this.drop();
      this.restarting = true;
      this.setConnection('connecting');
    } else if (status === 'dead') {
      this.drop();
      this.setConnection('lost');
    } else if (this.restarting && (status === 'idle' || status === 'busy')) {
      this.restarting = false;
      this.connect();
    }
  }

  private onConnectionStatus(_: Kernel.IKernelConnection, status: Kernel.ConnectionStatus): void {
    if (status === 'connecting' && this._connection === 'ready') {
      this.away = true;
      this.setConnection('connecting');
    } else if (status === 'connected' && this.away) {
      this.away = false;
      if (this.peer) {
        this.setConnection('ready');
        this._resumed.emit();
      }
    } else if (status === 'disconnected') {
      this.setConnection('lost');
    }
  }

  private drop(): void {
    this.attempt++;
    this.peer?.close();
    this.peer = null;
    const comm = this.comm;
    this.comm = null;
    [...this.retired.splice(0), ...(comm ? [comm] : [])].forEach(old => this.close(old));
  }

  private close(comm: Comm): void {
    if (comm.isDisposed) {
      return;
    }
    release(comm);
    if (this.kernel.isDisposed || this.kernel.status === 'dead') {
      comm.dispose();
    } else {
      comm.close();
    }
  }

  private setConnection(connection: Connection): void {
    if (connection !== this._connection) {
      this._connection = connection;
      this._connectionChanged.emit(connection);
    }
  }

  private comm: Comm | null = null;
  private peer: RpcPeer | null = null;
  private attempt = 0;
  /** Old comms that wait to be closed. */
  private readonly retired: Comm[] = [];
  private reopened = false;
  private repeated = false;
  private restarting = false;
  private away = false;
  private _isDisposed = false;
  private _connection: Connection = 'none';
  private readonly _connectionChanged = new Signal<this, Connection>(this);
  private readonly _greeted = new Signal<this, HelloResult>(this);
  private readonly _event = new Signal<this, EventParams>(this);
  private readonly _resumed = new Signal<this, void>(this);
}

/** What still comes from it is not heard. */
function release(comm: Comm): void {
  comm.onMsg = () => undefined;
  comm.onClose = () => undefined;
}

function transmit(comm: Comm, data: JSONObject): void {
  if (!comm.isDisposed) {
    comm.send(data);
  }
}

/** Let go of a comm that rang: not closed (other tabs share its id), and not before its subshell came. */
function dismiss(comm: Comm): void {
  void Promise.race([comm.subshellStarted, new Promise(done => setTimeout(done, SUBSHELL_WAIT))])
    .catch(() => undefined)
    .then(() => comm.dispose());
}
