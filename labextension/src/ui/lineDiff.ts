/** Lines of two texts compared. */

export interface DiffLine {
  readonly op: 'same' | 'added' | 'removed';
  readonly text: string;
  /** 1-based; null where the line does not stand on that side. */
  readonly oldNumber: number | null;
  readonly newNumber: number | null;
}

/** More work than this on one diff is not worth it: the changed part is shown as replaced. */
const MAX_EDITS = 2_000;

export function diffLines(oldText: string, newText: string): readonly DiffLine[] {
  const before = split(oldText);
  const after = split(newText);
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) {
    head++;
  }
  let tail = 0;
  while (
    tail < before.length - head &&
    tail < after.length - head &&
    before[before.length - 1 - tail] === after[after.length - 1 - tail]
  ) {
    tail++;
  }
  const ops = [
    ...Array<Op>(head).fill('same'),
    ...compare(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...Array<Op>(tail).fill('same')
  ];
  return number(ops, before, after);
}

type Op = DiffLine['op'];

/** A line feed ends a line; it does not begin an empty one. */
function split(text: string): readonly string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n');
}

/** Myers' shortest edit script, walked back over the stored frontiers. */
function compare(a: readonly string[], b: readonly string[]): readonly Op[] {
  const replaced = (): readonly Op[] => [
    ...Array<Op>(a.length).fill('removed'),
    ...Array<Op>(b.length).fill('added')
  ];
  if (a.length === 0 || b.length === 0) {
    return replaced();
  }
  const limit = Math.min(a.length + b.length, MAX_EDITS);
  const middle = limit + 1;
  let best = new Int32Array(2 * limit + 3);
  const trail: Int32Array[] = [];
  for (let edits = 0; edits <= limit; edits++) {
    trail.push(best.slice(middle - edits - 1, middle + edits + 2));
    const next = best.slice();
    for (let k = -edits; k <= edits; k += 2) {
      const down = k === -edits || (k !== edits && at(best, middle + k - 1) < at(best, middle + k + 1));
      let x = down ? at(best, middle + k + 1) : at(best, middle + k - 1) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) {
        x++;
      }
      next[middle + k] = x;
      if (x >= a.length && x - k >= b.length) {
        return walkBack(trail, a.length, b.length);
      }
    }
    best = next;
  }
  return replaced();
}

function walkBack(trail: readonly Int32Array[], oldLength: number, newLength: number): readonly Op[] {
  const ops: Op[] = [];
  let x = oldLength;
  let y = newLength;
  for (let edits = trail.length - 1; edits > 0; edits--) {
    const frontier = trail[edits];
    if (frontier === undefined) {
      break;
    }
    const centre = edits + 1;
    const k = x - y;
    const down =
      k === -edits || (k !== edits && at(frontier, centre + k - 1) < at(frontier, centre + k + 1));
    const fromX = down ? at(frontier, centre + k + 1) : at(frontier, centre + k - 1);
    const fromY = fromX - (down ? k + 1 : k - 1);
    while (x > fromX && y > fromY) {
      ops.push('same');
      x--;
      y--;
    }
    ops.push(down ? 'added' : 'removed');
    x = fromX;
    y = fromY;
  }
  while (x > 0 && y > 0) {
    ops.push('same');
    x--;
    y--;
  }
  return ops.reverse();
}

function at(array: Int32Array, index: number): number {
  return array[index] ?? 0;
}

function number(ops: readonly Op[], before: readonly string[], after: readonly string[]): readonly DiffLine[] {
  let oldAt = 0;
  let newAt = 0;
  return ops.map(op => {
    const oldNumber = op === 'added' ? null : ++oldAt;
    const newNumber = op === 'removed' ? null : ++newAt;
    const text = (newNumber === null ? before[oldAt - 1] : after[newAt - 1]) ?? '';
    return { op, text, oldNumber, newNumber };
  });
}

/** Changed lines with their surroundings; long stretches without a change are folded. */
export type Hunk =
  | { readonly kind: 'lines'; readonly lines: readonly DiffLine[] }
  | { readonly kind: 'folded'; readonly lines: readonly DiffLine[] };

export function hunks(lines: readonly DiffLine[], context = 3): readonly Hunk[] {
  const near = new Uint8Array(lines.length);
  lines.forEach((line, index) => {
    if (line.op !== 'same') {
      near.fill(1, Math.max(0, index - context), Math.min(lines.length, index + context + 1));
    }
  });
  const result: { kind: Hunk['kind']; lines: DiffLine[] }[] = [];
  lines.forEach((line, index) => {
    const kind = near[index] === 1 ? 'lines' : 'folded';
    const last = result[result.length - 1];
    if (last?.kind === kind) {
      last.lines.push(line);
    } else {
      result.push({ kind, lines: [line] });
    }
  });
  // Folding one or two lines would save nothing.
  return result.map(hunk => (hunk.kind === 'folded' && hunk.lines.length < 3 ? { ...hunk, kind: 'lines' } : hunk));
}

/** "+6 −2" of a diff. */
export function changedLines(lines: readonly DiffLine[]): { added: number; removed: number } {
  let added = 0;
  let removed = 0;
  for (const line of lines) {
    if (line.op === 'added') {
      added++;
    } else if (line.op === 'removed') {
      removed++;
    }
  }
  return { added, removed };
}
