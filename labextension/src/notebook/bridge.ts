/** What the kernel may ask of the open notebook; one bridge per kernel. */
import { CodeCell } from '@jupyterlab/cells';
import type { INotebookModel, Notebook, NotebookPanel } from '@jupyterlab/notebook';
import type { ISharedNotebook } from '@jupyter/ydoc';
import {
  INVALID_PARAMS,
  NO_NOTEBOOK,
  type NotebookEditParams,
  type NotebookEditResult,
  type NotebookOutputsParams,
  type NotebookReadParams,
  type NotebookReadResult,
  type OkResult
} from '../protocol/generated';
import { RpcError, type KernelHandlers } from '../session/rpc';
import { findCell, isCode, readCell } from './document';
import { applyEdits } from './edit';
import { appended, toDocument } from './outputs';
import { executeCode, runCell } from './run';
import { looksWhole, save, savedIfClean } from './save';
import { Journal } from './undo';
import { keepView } from './view';

/** A notebook whose document is loaded. */
interface IOpen {
  panel: NotebookPanel;
  notebook: Notebook;
  model: INotebookModel;
  shared: ISharedNotebook;
}

/** Each document has its own journal, whichever kernel edits it. */
const journals = new WeakMap<object, Journal>();

export class NotebookBridge {
  /** `panel` tells which notebook of this kernel counts now; null when none is open. */
  constructor(private readonly panel: () => NotebookPanel | null) {}

  readonly handlers: KernelHandlers = {
    'notebook.read': params => this.read(params),
    'notebook.edit': params => this.edit(params),
    'notebook.outputs': params => this.outputs(params),
    'notebook.run': async params => runCell((await this.opened()).panel, params),
    'notebook.reveal': ({ cell_id }) => this.reveal(cell_id, false),
    'notebook.save': () => this.save(),
    'notebook.undo': ({ run_id }) => this.undo(run_id),
    'kernel.execute': async ({ code }) => {
      const kernel = (await this.opened()).panel.sessionContext.session?.kernel;
      if (!kernel) {
        throw new RpcError(NO_NOTEBOOK, 'The notebook has no kernel.');
      }
      return executeCode(kernel, code);
    },
    ping: () => ({ ok: true })
  };

  /** Scroll to a cell. `activate`: the person asked for it, so make it theirs. */
  async reveal(cellId: string, activate: boolean): Promise<OkResult> {
    const { notebook, shared } = await this.opened();
    findCell(shared, cellId);
    const index = notebook.widgets.findIndex(cell => cell.model.id === cellId);
    if (activate) {
      notebook.activeCellIndex = index;
      notebook.deselectAll();
    }
    await notebook.scrollToItem(index, 'smart');
    return { ok: true };
  }

  private async read(params: NotebookReadParams): Promise<NotebookReadResult> {
    const { panel, notebook, model, shared } = await this.opened();
    const cells = params.cell_ids
      ? params.cell_ids.map(id => findCell(shared, id))
      : shared.cells;
    return {
      path: panel.context.path,
      dirty: model.dirty,
      active_cell_id: notebook.activeCell?.model.id ?? null,
      cells: cells.map(cell => readCell(cell, params.outputs)),
      total_cells: shared.cells.length
    };
  }

  private async edit(params: NotebookEditParams): Promise<NotebookEditResult> {
    const { panel, notebook, model, shared } = await this.opened();
    if (model.readOnly) {
      throw new RpcError(NO_NOTEBOOK, 'The notebook is read-only.');
    }
    const running = new Set(
      notebook.widgets
        .filter(cell => cell instanceof CodeCell && cell.model.executionState === 'running')
        .map(cell => cell.model.id)
    );
    const { cells, inverse } = savedIfClean(panel, () =>
      keepView(notebook, () =>
        applyEdits(shared, params.edits, {
          runId: params.run_id,
          sessionId: params.session_id,
          isRunning: id => running.has(id)
        })
      )
    );
    journalOf(shared).record(params.run_id, inverse);
    return { cells, total_cells: shared.cells.length };
  }

  private async undo(runId: string): Promise<NotebookEditResult> {
    const { panel, notebook, shared } = await this.opened();
    const result = savedIfClean(panel, () =>
      keepView(notebook, () => journalOf(shared).undo(shared, runId))
    );
    return { ...result, total_cells: shared.cells.length };
  }

  private async outputs(params: NotebookOutputsParams): Promise<OkResult> {
    const { panel, shared } = await this.opened();
    const cell = findCell(shared, params.cell_id);
    if (!isCode(cell)) {
      throw new RpcError(INVALID_PARAMS, 'Only code cells have outputs.', { cell_id: cell.id });
    }
    const added = toDocument(params.outputs);
    savedIfClean(panel, () =>
      cell.transact(() => {
        cell.setOutputs(params.append ? appended(cell.getOutputs(), added) : added);
        if (params.execution_count !== null) {
          cell.execution_count = params.execution_count;
        }
      }, false)
    );
    return { ok: true };
  }

  private async save(): Promise<OkResult> {
    const { panel, shared } = await this.opened();
    if (!looksWhole(shared.cells.length, panel)) {
      throw new RpcError(INVALID_PARAMS, 'The notebook is empty: not saved.');
    }
    await save(panel);
    return { ok: true };
  }

  /** The panel, its document loaded. Throws -32004 when no notebook of this kernel is open. */
  private async opened(): Promise<IOpen> {
    const panel = this.panel();
    if (!panel || panel.isDisposed) {
      throw new RpcError(NO_NOTEBOOK, 'No notebook of this kernel is open in this page.');
    }
    await panel.context.ready;
    const { model } = panel.content;
    if (!model) {
      throw new RpcError(NO_NOTEBOOK, 'The notebook was closed.');
    }
    return { panel, notebook: panel.content, model, shared: model.sharedModel };
  }
}

function journalOf(shared: object): Journal {
  let journal = journals.get(shared);
  if (!journal) {
    journals.set(shared, (journal = new Journal()));
  }
  return journal;
}
