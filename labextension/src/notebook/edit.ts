/** Edits of the open document: all of them or none, in one transaction, with what undoes them. */
import type { ISharedCell, ISharedNotebook, SharedCell } from '@jupyter/ydoc';
import { UUID, type PartialJSONObject, type PartialJSONValue } from '@lumino/coreutils';
import {
  CELL_CHANGED,
  CELL_LOCKED,
  INVALID_PARAMS,
  type EditOp,
  type EditedCell,
  type JsonValue
} from '../protocol/generated';
import { RpcError } from '../session/rpc';
import { hashOf, indexOf, METADATA, typeOf, type CellType } from './document';

/** What takes one edit back, as long as the cell is still what the edit left (`hash`). */
export type Inverse =
  | { kind: 'made'; id: string; hash: string }
  | { kind: 'edited'; id: string; hash: string; before: SharedCell.Cell }
  | { kind: 'deleted'; before: SharedCell.Cell; after: string | null }
  | { kind: 'moved'; id: string; after: string | null };

export interface IEditContext {
  runId: string;
  sessionId?: string | null;
  /** Whether the cell is executing: moving, deleting or retyping it would cut its outputs off. */
  isRunning: (cellId: string) => boolean;
}

/** A cell of the list the edits are tried on before anything is changed. */
interface IDraft {
  id: string;
  type: CellType;
  /** Null for a cell that an earlier edit of this batch makes. */
  cell: ISharedCell | null;
}

const invalid = (text: string): RpcError => new RpcError(INVALID_PARAMS, text);

/** Check, then do. Throws without having changed anything. Returns what to undo, in order. */
export function applyEdits(
  notebook: ISharedNotebook,
  edits: readonly EditOp[],
  context: IEditContext
): { cells: EditedCell[]; inverse: Inverse[] } {
  const named = edits.map(edit =>
    edit.op === 'insert' ? { ...edit, new_id: edit.new_id ?? UUID.uuid4() } : edit
  );
  check(notebook, named, context);
  const writer = new Writer(notebook, context.runId);
  notebook.transact(() => {
    named.forEach(edit => writer.apply(edit));
    if (context.sessionId != null) {
      const known = (notebook.getMetadata(METADATA) ?? {}) as Record<string, PartialJSONValue>;
      if (known['session_id'] !== context.sessionId) {
        notebook.setMetadata(METADATA, { ...known, session_id: context.sessionId });
      }
    }
  });
  return { cells: named.map(edit => readBack(notebook, edit)), inverse: writer.inverse };
}

/** What the document holds now, not what was meant to be written. */
function readBack(notebook: ISharedNotebook, edit: EditOp): EditedCell {
  const id = (edit.op === 'insert' ? edit.new_id : edit.cell_id) ?? '';
  const index = notebook.cells.findIndex(cell => cell.id === id);
  const cell = notebook.cells[index];
  return cell ? { id, index, hash: hashOf(cell) } : { id, index: null, hash: null };
}

function check(notebook: ISharedNotebook, edits: EditOp[], context: IEditContext): void {
  const draft: IDraft[] = notebook.cells.map(cell => ({ id: cell.id, type: typeOf(cell), cell }));
  for (const edit of edits) {
    if (edit.op === 'insert') {
      const id = edit.new_id ?? '';
      if (draft.some(cell => cell.id === id)) {
        throw invalid(`A cell with the id ${id} exists already.`);
      }
      draft.splice(target(draft, edit), 0, { id, type: edit.cell_type ?? 'code', cell: null });
      continue;
    }
    if (edit.cell_id == null) {
      throw invalid(`${edit.op} needs cell_id.`);
    }
    const at = indexOf(draft, edit.cell_id);
    const found = draft[at] as IDraft;
    if (found.cell) {
      checkCell(found.cell, edit, context);
    }
    if (edit.op === 'replace') {
      if (edit.source == null && edit.cell_type == null) {
        throw invalid('replace needs source or cell_type.');
      }
      draft[at] = { ...found, type: edit.cell_type ?? found.type };
    } else {
      draft.splice(at, 1);
      if (edit.op === 'move') {
        draft.splice(target(draft, edit), 0, found);
      }
    }
  }
}

function checkCell(cell: ISharedCell, edit: EditOp, context: IEditContext): void {
  if (edit.expect_hash != null && edit.expect_hash !== hashOf(cell)) {
    throw new RpcError(CELL_CHANGED, 'The cell changed since it was read.', {
      cell_id: cell.id,
      source: cell.getSource(),
      hash: hashOf(cell)
    });
  }
  const retyped = edit.op === 'replace' && edit.cell_type != null && edit.cell_type !== typeOf(cell);
  const locks = edit.op === 'replace' ? ['editable'] : edit.op === 'delete' ? ['deletable'] : [];
  for (const lock of locks) {
    if (cell.getMetadata(lock) === false) {
      throw locked(cell.id, `The cell is marked as not ${lock}.`);
    }
  }
  if ((edit.op !== 'replace' || retyped) && context.isRunning(cell.id)) {
    throw locked(cell.id, 'The cell is running: it can be moved, deleted or retyped when it ends.');
  }
}

const locked = (id: string, text: string): RpcError => new RpcError(CELL_LOCKED, text, { cell_id: id });

/** Where an inserted or moved cell goes: behind `after`, before `before`, else at the end. */
function target(cells: readonly { id: string }[], edit: EditOp): number {
  if (edit.after != null) {
    return indexOf(cells, edit.after) + 1;
  }
  return edit.before == null ? cells.length : indexOf(cells, edit.before);
}

/**
 * Applies checked edits. The shared model's own `cells` stand still within a transaction, so the
 * list is kept here.
 */
class Writer {
  readonly inverse: Inverse[] = [];

  constructor(
    private readonly notebook: ISharedNotebook,
    private readonly runId: string
  ) {
    this.cells = [...notebook.cells];
  }

  apply(edit: EditOp): void {
    if (edit.op === 'insert') {
      this.insert(edit);
      return;
    }
    const at = indexOf(this.cells, edit.cell_id ?? '');
    const cell = this.cells[at] as ISharedCell;
    const before = cell.toJSON() as SharedCell.Cell;
    const previous = this.cells[at - 1]?.id ?? null;
    // A removed cell cannot be read any more, not even its id.
    const { id } = cell;
    switch (edit.op) {
      case 'replace':
        this.replace(cell, at, edit);
        this.inverse.push({ kind: 'edited', id, hash: this.hashAt(at), before });
        break;
      case 'delete':
        this.remove(at);
        this.inverse.push({ kind: 'deleted', before, after: previous });
        break;
      case 'move':
        this.remove(at);
        this.put(target(this.cells, edit), before);
        this.inverse.push({ kind: 'moved', id, after: previous });
        break;
    }
  }

  private insert(edit: EditOp): void {
    const type = edit.cell_type ?? 'code';
    const id = edit.new_id ?? '';
    const mark = { [METADATA]: { run: this.runId, made: true } };
    const at = target(this.cells, edit);
    this.put(at, {
      id,
      cell_type: type,
      source: edit.source ?? '',
      // As in Lab's own new cells: they have no outputs that could be foreign.
      metadata: type === 'code' ? { trusted: true, ...mark } : mark
    });
    this.inverse.push({ kind: 'made', id, hash: this.hashAt(at) });
  }

  private replace(cell: ISharedCell, at: number, edit: EditOp): void {
    const old = cell.getMetadata(METADATA) as Record<string, JsonValue> | undefined;
    const mark = { ...old, run: this.runId, ...(old?.['made'] === true ? {} : { edited: true }) };
    const type = edit.cell_type ?? typeOf(cell);
    if (type === typeOf(cell)) {
      writeSource(cell, edit.source ?? cell.getSource());
      cell.setMetadata(METADATA, mark);
      return;
    }
    // Outputs, count and attachments do not outlive their type: what is left would be invalid.
    const json = cell.toJSON();
    const metadata: Record<string, unknown> = { ...json.metadata, [METADATA]: mark };
    delete metadata['trusted'];
    this.remove(at);
    this.put(at, {
      id: json.id,
      cell_type: type,
      source: edit.source ?? json.source,
      metadata: (type === 'code' ? { ...metadata, trusted: true } : metadata) as PartialJSONObject
    });
  }

  private hashAt(at: number): string {
    return hashOf(this.cells[at] as ISharedCell);
  }

  private remove(at: number): void {
    this.notebook.deleteCell(at);
    this.cells.splice(at, 1);
  }

  private put(at: number, cell: SharedCell.Cell): void {
    this.cells.splice(at, 0, this.notebook.insertCell(at, cell));
  }

  private readonly cells: ISharedCell[];
}

/** Change only the part that differs, so that a cursor elsewhere in the cell stays in its place. */
export function writeSource(cell: ISharedCell, source: string): void {
  const old = cell.getSource();
  let start = 0;
  const shorter = Math.min(old.length, source.length);
  while (start < shorter && old[start] === source[start]) {
    start++;
  }
  let tail = 0;
  while (tail < shorter - start && old.at(-1 - tail) === source.at(-1 - tail)) {
    tail++;
  }
  // Never cut between the halves of a surrogate pair: the document would store two broken ones.
  if (start > 0 && isHigh(old, start - 1)) {
    start--;
  }
  if (tail > 0 && isHigh(old, old.length - tail - 1)) {
    tail--;
  }
  if (start < old.length - tail || start < source.length - tail) {
    cell.updateSource(start, old.length - tail, source.slice(start, source.length - tail));
  }
}

function isHigh(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return unit >= 0xd800 && unit <= 0xdbff;
}
