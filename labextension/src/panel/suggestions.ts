/** Three prompts that fit the notebook at hand, for an empty conversation. */
import type { ISharedNotebook } from '@jupyter/ydoc';
import { isCode } from '../notebook/document';

const TABLE = /^(\w+)\s*=\s*(?:pd|pl|pandas|polars)\.read_\w+\(/m;
const FIRST = ['Load a CSV file and show its first rows', 'Plot a sine curve', 'What can you do here?'];
const ANY = ['Explain what this notebook does', 'Look for mistakes in this code', 'Add headings'];

export function suggestionsFor(notebook: ISharedNotebook | null): readonly string[] {
  // The last cell first.
  const code = (notebook?.cells.filter(isCode) ?? []).reverse();
  if (!code.some(cell => cell.getSource().trim() !== '')) {
    return FIRST;
  }
  const found: string[] = [];
  const failed = code.find(cell => cell.getOutputs().some(item => item.output_type === 'error'));
  if (failed) {
    const count = failed.execution_count;
    found.push(count === null ? 'Explain the last error' : `Explain the error in [${count}]`);
  }
  for (const cell of code) {
    const table = TABLE.exec(cell.getSource())?.[1];
    if (table !== undefined) {
      found.push(`Profile ${table}`);
      break;
    }
  }
  return [...found, ...ANY].slice(0, 3);
}
