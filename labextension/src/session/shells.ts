/** Subshells of a kernel, as far as JupyterLab leaves them to us. */
import { KernelMessage, type Kernel } from '@jupyterlab/services';

/** How long an answer of a free kernel may take before we take it for blocked. */
const PATIENCE = 1500;
/** A kernel without subshells never answers the request for one. */
const NO_SUBSHELLS = 3000;

const sleep = (ms: number): Promise<'late'> =>
  new Promise(resolve => setTimeout(resolve, ms, 'late' as const));

async function createSubshell(kernel: Kernel.IKernelConnection): Promise<string | null> {
  // Not `requestCreateSubshell`: it refuses until `kernel.info` has come, which is what we wait for.
  const message = KernelMessage.createMessage({
    msgType: 'create_subshell_request',
    channel: 'control',
    session: kernel.clientId,
    username: kernel.username,
    content: {}
  });
  const future = kernel.sendControlMessage(message, true);
  const reply = await Promise.race([future.done, sleep(NO_SUBSHELLS)]);
  if (reply === 'late') {
    future.dispose();
    return null;
  }
  return (reply as KernelMessage.ICreateSubshellReplyMsg).content.subshell_id;
}

/** Delete a subshell; failure means that it is gone already. */
export function deleteSubshell(kernel: Kernel.IKernelConnection, id: string): void {
  if (!kernel.isDisposed && kernel.status !== 'dead') {
    kernel.requestDeleteSubshell({ subshell_id: id }).done.catch(() => undefined);
  }
}

/**
 * Wait until the kernel has said what it is. After a reload of the page while a cell runs, the
 * question waits in the blocked shell: it is asked again on a subshell, made for that alone.
 */
export async function kernelReady(kernel: Kernel.IKernelConnection): Promise<void> {
  await connected(kernel);
  if ((await Promise.race([kernel.info, sleep(PATIENCE)])) !== 'late') {
    return;
  }
  // Kernels of other languages need not bear a message they do not know.
  const spec = await kernel.spec;
  if (spec?.language.toLowerCase() === 'python' && !kernel.isDisposed) {
    const id = await createSubshell(kernel);
    if (id !== null) {
      kernel.subshellId = id;
      const asked = kernel.requestKernelInfo();
      kernel.subshellId = null;
      await asked;
      deleteSubshell(kernel, id);
    }
  }
  await kernel.info;
}

/**
 * Run `send` so that what it sends *at once* goes to a subshell of its own; `until` tells when that
 * subshell may go. The main shell stays what everything else uses.
 */
export async function onOwnSubshell<T>(
  kernel: Kernel.IKernelConnection,
  send: () => Promise<T>
): Promise<T> {
  const reply = await kernel.requestCreateSubshell({}).done;
  const id = reply.content.subshell_id;
  try {
    const before = kernel.subshellId;
    kernel.subshellId = id;
    let sent: Promise<T>;
    try {
      sent = send();
    } finally {
      kernel.subshellId = before;
    }
    return await sent;
  } finally {
    deleteSubshell(kernel, id);
  }
}

function connected(kernel: Kernel.IKernelConnection): Promise<void> {
  if (kernel.connectionStatus === 'connected') {
    return Promise.resolve();
  }
  return new Promise((resolve, reject) => {
    const settle = (): void => {
      kernel.connectionStatusChanged.disconnect(look);
      kernel.disposed.disconnect(gone);
    };
    const look = (_: unknown, status: Kernel.ConnectionStatus): void => {
      if (status === 'connected') {
        settle();
        resolve();
      }
    };
    const gone = (): void => {
      settle();
      reject(new Error('The kernel connection was closed.'));
    };
    kernel.connectionStatusChanged.connect(look);
    kernel.disposed.connect(gone);
  });
}
