/** Runs cells and code as the person would: by execute requests of this page. */
import { CodeCell } from '@jupyterlab/cells';
import type { NotebookPanel } from '@jupyterlab/notebook';
import { KernelMessage, type Kernel } from '@jupyterlab/services';
import {
  CELL_CHANGED,
  CELL_NOT_FOUND,
  INVALID_PARAMS,
  KERNEL_BUSY,
  NO_NOTEBOOK,
  type CellOutput,
  type KernelExecuteResult,
  type NotebookRunParams,
  type NotebookRunResult
} from '../protocol/generated';
import { RpcError } from '../session/rpc';
import { onOwnSubshell } from '../session/shells';
import { findCell, hashOf, isCode, readOutputs } from './document';
import { toWire } from './outputs';

/** How long code of the agent waits for the person's own cell to end. */
const BUSY_LIMIT = 10_000;

/** Run one code cell; its outputs stream into it. Resolves when it has ended, with errors too. */
export async function runCell(
  panel: NotebookPanel,
  params: NotebookRunParams
): Promise<NotebookRunResult> {
  const notebook = panel.content;
  const shared = notebook.model && findCell(notebook.model.sharedModel, params.cell_id);
  const widget = notebook.widgets.find(cell => cell.model.id === params.cell_id);
  if (!shared || !widget) {
    throw new RpcError(CELL_NOT_FOUND, `No cell has the id ${params.cell_id}.`);
  }
  if (!isCode(shared) || !(widget instanceof CodeCell)) {
    throw new RpcError(INVALID_PARAMS, 'Only code cells can be run.', { cell_id: params.cell_id });
  }
  const kernel = panel.sessionContext.session?.kernel;
  if (!kernel) {
    throw new RpcError(NO_NOTEBOOK, 'The notebook has no kernel.');
  }
  if (shared.getSource().trim() === '') {
    return { status: 'ok', execution_count: null, outputs: [] };
  }
  const execute = async (): Promise<KernelMessage.IExecuteReplyMsg | undefined> => {
    // Here, with nothing awaited in between: the person may have typed while the kernel was busy.
    if (params.expect_hash != null && params.expect_hash !== hashOf(shared)) {
      throw new RpcError(CELL_CHANGED, 'The cell changed before it began, so it was not run.', {
        cell_id: shared.id,
        source: shared.getSource(),
        hash: hashOf(shared)
      });
    }
    const reply = await CodeCell.execute(widget, panel.sessionContext, {
      agent_kernel: { run: params.run_id },
      recordTiming: notebook.notebookConfig.recordTiming
    });
    return reply ?? undefined;
  };
  let reply: KernelMessage.IExecuteReplyMsg | undefined;
  if (params.subshell) {
    reply = await cancelled(() => onOwnSubshell(kernel, execute));
  } else {
    await free(kernel);
    reply = await cancelled(execute);
  }
  return {
    status: reply ? statusOf(reply) : 'aborted',
    execution_count: shared.execution_count ?? null,
    outputs: readOutputs(shared)
  };
}

/** Run code that belongs to no cell, outside the history. Nobody can be asked for input. */
export async function executeCode(
  kernel: Kernel.IKernelConnection,
  code: string
): Promise<KernelExecuteResult> {
  await free(kernel);
  const outputs: (CellOutput & { display?: string })[] = [];
  let clear = false;
  const future = kernel.requestExecute({ code, store_history: false, allow_stdin: false });
  future.onIOPub = message => {
    if (KernelMessage.isClearOutputMsg(message)) {
      clear = message.content.wait;
      if (!clear) {
        outputs.length = 0;
      }
      return;
    }
    const output = toWire({ output_type: message.header.msg_type, ...message.content });
    if (!output) {
      return;
    }
    if (clear) {
      clear = false;
      outputs.length = 0;
    }
    add(outputs, output, message);
  };
  const reply = await cancelled(() => future.done);
  return {
    status: reply ? statusOf(reply) : 'aborted',
    outputs: outputs.map(({ display: _, ...output }) => output)
  };
}

function add(
  outputs: (CellOutput & { display?: string })[],
  output: CellOutput,
  message: KernelMessage.IIOPubMessage
): void {
  const transient = (message.content as { transient?: { display_id?: string } }).transient;
  const display = transient?.display_id;
  if (message.header.msg_type === 'update_display_data') {
    outputs.forEach((old, at) => {
      if (display !== undefined && old.display === display) {
        outputs[at] = { ...output, output_type: old.output_type, display };
      }
    });
    return;
  }
  const last = outputs.at(-1);
  if (output.output_type === 'stream' && last?.output_type === 'stream' && last.name === output.name) {
    last.text = (last.text ?? '') + (output.text ?? '');
  } else {
    outputs.push(display === undefined ? output : { ...output, display });
  }
}

function statusOf(reply: KernelMessage.IExecuteReplyMsg): NotebookRunResult['status'] {
  // Kernels say `aborted` for requests behind a failed one; older ones say `abort`.
  const status: string = reply.content.status;
  return status === 'ok' || status === 'error' ? status : 'aborted';
}

/** Lab rejects when the kernel is restarted or the cell goes while it runs. */
async function cancelled<T>(run: () => Promise<T>): Promise<T | undefined> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof Error && /cancel|dispos|dead/i.test(error.message)) {
      return undefined;
    }
    throw error;
  }
}

/** Wait until the main shell is free; throws -32005 when it stays busy. */
async function free(kernel: Kernel.IKernelConnection): Promise<void> {
  if (kernel.status !== 'busy') {
    return;
  }
  await new Promise<void>((resolve, reject) => {
    const settle = (): void => {
      clearTimeout(timer);
      kernel.statusChanged.disconnect(look);
    };
    const look = (_: unknown, status: KernelMessage.Status): void => {
      if (status !== 'busy') {
        settle();
        resolve();
      }
    };
    const timer = setTimeout(() => {
      settle();
      reject(new RpcError(KERNEL_BUSY, 'The kernel is busy with a cell of the notebook.'));
    }, BUSY_LIMIT);
    kernel.statusChanged.connect(look);
  });
}
