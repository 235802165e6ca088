/** The open document's cells by id. The shared model only: with and without live collaboration. */
import type { ISharedCell, ISharedCodeCell, ISharedNotebook } from '@jupyter/ydoc';
import {
  CELL_AMBIGUOUS,
  CELL_NOT_FOUND,
  type CellContent,
  type CellOutput
} from '../protocol/generated';
import { RpcError } from '../session/rpc';
import { sourceHash } from './hash';
import { toWire } from './outputs';

export type CellType = CellContent['type'];

/** Key of our metadata, in cells and in the notebook. */
export const METADATA = 'agent_kernel';

const hashes = new WeakMap<ISharedCell, { source: string; hash: string }>();

/** The source's hash; computed once per content. */
export function hashOf(cell: ISharedCell): string {
  const source = cell.getSource();
  const known = hashes.get(cell);
  if (known?.source === source) {
    return known.hash;
  }
  const hash = sourceHash(source);
  hashes.set(cell, { source, hash });
  return hash;
}

/** Unknown types are shown raw, as nbformat's readers do. */
export function typeOf(cell: ISharedCell): CellType {
  return cell.cell_type === 'code' || cell.cell_type === 'markdown' ? cell.cell_type : 'raw';
}

export function isCode(cell: ISharedCell): cell is ISharedCodeCell {
  return cell.cell_type === 'code';
}

/** Where the cell stands. Throws -32001 (with the ids) or -32003 (two cells share the id). */
export function indexOf(cells: readonly { id: string }[], id: string): number {
  const index = cells.findIndex(cell => cell.id === id);
  if (index < 0) {
    throw new RpcError(CELL_NOT_FOUND, `No cell has the id ${id}.`, {
      cell_id: id,
      cell_ids: cells.map(cell => cell.id)
    });
  }
  const twin = cells.findIndex((cell, at) => at > index && cell.id === id);
  if (twin >= 0) {
    const indices = cells.flatMap((cell, at) => (cell.id === id ? [at] : []));
    throw new RpcError(CELL_AMBIGUOUS, `${indices.length} cells share the id ${id}.`, {
      cell_id: id,
      indices
    });
  }
  return index;
}

export function findCell(notebook: ISharedNotebook, id: string): ISharedCell {
  return notebook.cells[indexOf(notebook.cells, id)] as ISharedCell;
}

export function readOutputs(cell: ISharedCodeCell): CellOutput[] {
  return cell.getOutputs().flatMap(output => toWire(output) ?? []);
}

/** One cell as the kernel reads it. */
export function readCell(cell: ISharedCell, outputs: boolean): CellContent {
  const content: CellContent = {
    id: cell.id,
    type: typeOf(cell),
    source: cell.getSource(),
    hash: hashOf(cell)
  };
  if (isCode(cell)) {
    content.execution_count = cell.execution_count ?? null;
    if (outputs) {
      content.outputs = readOutputs(cell);
    }
  }
  return content;
}
