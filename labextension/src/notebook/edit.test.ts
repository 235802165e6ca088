import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { afterEach, describe, it } from 'node:test';
import { YNotebook } from '@jupyter/ydoc';
import type { EditOp } from '../protocol/generated';
import { RpcError } from '../session/rpc';
import { applyEdits, writeSource } from './edit';
import { sourceHash } from './hash';
import { Journal } from './undo';

type Cells = Parameters<typeof YNotebook.create>[0];

const code = (id: string, source: string, metadata: object = {}) => ({
  id,
  cell_type: 'code',
  source,
  metadata,
  outputs: [{ output_type: 'stream', name: 'stdout', text: 'x' }],
  execution_count: 3
});

const opened: YNotebook[] = [];

function open(...cells: object[]): YNotebook {
  const notebook = YNotebook.create({ data: { cells } } as Cells);
  opened.push(notebook);
  return notebook;
}

// A shared document keeps a timer, which would keep node alive.
afterEach(() => opened.splice(0).forEach(notebook => notebook.dispose()));

const op = (edit: Partial<EditOp> & { op: EditOp['op'] }): EditOp => ({
  cell_id: null,
  after: null,
  before: null,
  source: null,
  cell_type: null,
  expect_hash: null,
  new_id: null,
  ...edit
});

const apply = (notebook: YNotebook, edits: EditOp[], running: string[] = []) =>
  applyEdits(notebook, edits, { runId: 'r1', isRunning: id => running.includes(id) });

const shown = (notebook: YNotebook): string[] =>
  notebook.cells.map(cell => `${cell.id}:${cell.getSource()}`);

const refused = (code: number) => (error: unknown) => error instanceof RpcError && error.code === code;

describe('edits of the open document', () => {
  it('keep the order of inserts without an anchor, at the end', () => {
    const notebook = open(code('a', '1'), code('b', '2'));
    apply(notebook, [
      op({ op: 'insert', source: 'A', new_id: 'x' }),
      op({ op: 'insert', source: 'B', new_id: 'y', after: 'x' }),
      op({ op: 'insert', source: 'C', new_id: 'z' })
    ]);
    assert.deepEqual(shown(notebook), ['a:1', 'b:2', 'x:A', 'y:B', 'z:C']);
  });

  it('hold all of a batch back when one cell has changed, and tell its text', () => {
    const notebook = open(code('a', '1'), code('b', '2'));
    const hash = sourceHash('2');
    notebook.cells[1]!.setSource('2 # mine');
    assert.throws(
      () =>
        apply(notebook, [
          op({ op: 'replace', cell_id: 'a', source: 'gone' }),
          op({ op: 'replace', cell_id: 'b', source: 'gone', expect_hash: hash })
        ]),
      (error: RpcError) => {
        assert.deepEqual(error.data, { cell_id: 'b', source: '2 # mine', hash: sourceHash('2 # mine') });
        return error.code === -32002;
      }
    );
    assert.deepEqual(shown(notebook), ['a:1', 'b:2 # mine']);
  });

  it('say which ids there are when a cell is not found', () => {
    const notebook = open(code('a', '1'));
    assert.throws(
      () => apply(notebook, [op({ op: 'delete', cell_id: 'cell-3' })]),
      (error: RpcError) => error.code === -32001 && JSON.stringify(error.data).includes('["a"]')
    );
  });

  it('refuse an id that two cells share', () => {
    const notebook = open(code('a', '1'), code('a', '2'));
    assert.throws(() => apply(notebook, [op({ op: 'replace', cell_id: 'a', source: 'x' })]), refused(-32003));
    assert.deepEqual(shown(notebook), ['a:1', 'a:2']);
  });

  it('delete several cells by id, whatever their places become', () => {
    const notebook = open(...[0, 1, 2, 3, 4, 5, 6, 7].map(n => code(`c${n}`, `${n}`)));
    apply(notebook, ['c2', 'c3', 'c4'].map(cell_id => op({ op: 'delete', cell_id })));
    assert.deepEqual(shown(notebook), ['c0:0', 'c1:1', 'c5:5', 'c6:6', 'c7:7']);
  });

  it('replace the source in place: type, outputs and count stay', () => {
    const notebook = open(code('a', '1'));
    const { cells } = apply(notebook, [op({ op: 'replace', cell_id: 'a', source: 'x = 1' })]);
    assert.deepEqual(cells, [{ id: 'a', index: 0, hash: sourceHash('x = 1') }]);
    const cell = notebook.toJSON().cells[0] as unknown as ReturnType<typeof code>;
    assert.equal(cell.execution_count, 3);
    assert.equal(cell.outputs.length, 1);
    assert.deepEqual(cell.metadata, { agent_kernel: { run: 'r1', edited: true } });
  });

  it('leave no outputs behind when a code cell becomes Markdown, nor ask for them the other way', () => {
    const notebook = open(code('a', '1', { tags: ['t'] }));
    apply(notebook, [op({ op: 'replace', cell_id: 'a', source: '# T', cell_type: 'markdown' })]);
    const [markdown] = (JSON.parse(JSON.stringify(notebook)) as { cells: ReturnType<typeof code>[] }).cells;
    assert.deepEqual(Object.keys(markdown!).sort(), ['cell_type', 'id', 'metadata', 'source']);
    assert.deepEqual(markdown!.metadata, { tags: ['t'], agent_kernel: { run: 'r1', edited: true } });
    apply(notebook, [op({ op: 'replace', cell_id: 'a', cell_type: 'code' })]);
    const [back] = notebook.toJSON().cells as unknown as ReturnType<typeof code>[];
    assert.deepEqual([back!.source, back!.outputs, back!.execution_count], ['# T', [], null]);
  });

  it('move a cell before and behind others', () => {
    const notebook = open(code('a', '1'), code('b', '2'), code('c', '3'));
    apply(notebook, [op({ op: 'move', cell_id: 'c', before: 'a' }), op({ op: 'move', cell_id: 'a' })]);
    assert.deepEqual(shown(notebook), ['c:3', 'b:2', 'a:1']);
  });

  it('leave a running cell where it is, but may change its text', () => {
    const notebook = open(code('a', '1'), code('b', '2'));
    for (const edit of [
      op({ op: 'delete', cell_id: 'a' }),
      op({ op: 'move', cell_id: 'a' }),
      op({ op: 'replace', cell_id: 'a', cell_type: 'markdown' })
    ]) {
      assert.throws(() => apply(notebook, [edit], ['a']), refused(-32006));
    }
    apply(notebook, [op({ op: 'replace', cell_id: 'a', source: '1 # more' })], ['a']);
    assert.deepEqual(shown(notebook), ['a:1 # more', 'b:2']);
  });

  it('respect cells that are marked as not editable or not deletable', () => {
    const notebook = open(code('a', '1', { editable: false, deletable: false }));
    assert.throws(() => apply(notebook, [op({ op: 'replace', cell_id: 'a', source: '' })]), refused(-32006));
    assert.throws(() => apply(notebook, [op({ op: 'delete', cell_id: 'a' })]), refused(-32006));
  });

  it('write the session id beside what else stands in the metadata', () => {
    const notebook = open(code('a', '1'));
    notebook.setMetadata('agent_kernel', { other: 1 });
    applyEdits(notebook, [], { runId: 'r1', sessionId: 's1', isRunning: () => false });
    assert.deepEqual(notebook.getMetadata('agent_kernel'), { other: 1, session_id: 's1' });
  });

  it('are one change to whoever listens', () => {
    const notebook = open(code('a', '1'), code('b', '2'));
    let changes = 0;
    notebook.changed.connect((_, change) => (changes += change.cellsChange ? 1 : 0));
    apply(notebook, [op({ op: 'insert', source: 'x', before: 'a' }), op({ op: 'delete', cell_id: 'b' })]);
    assert.equal(changes, 1);
  });
});

describe('undo of a run', () => {
  it('gives back sources, deleted cells with outputs, types, places and metadata', () => {
    const notebook = open(code('a', '1'), code('b', '2', { tags: ['t'] }), code('c', '3'));
    const before = notebook.toJSON();
    const journal = new Journal();
    for (const edits of [
      [op({ op: 'insert', source: 'new', new_id: 'n', after: 'a' })],
      [op({ op: 'replace', cell_id: 'n', source: 'newer' }), op({ op: 'replace', cell_id: 'a', source: 'A' })],
      [op({ op: 'delete', cell_id: 'b' }), op({ op: 'move', cell_id: 'c', before: 'a' })],
      [op({ op: 'replace', cell_id: 'a', source: 'AA' })]
    ]) {
      journal.record('r1', apply(notebook, edits).inverse);
    }
    const { kept } = journal.undo(notebook, 'r1');
    assert.deepEqual(kept, []);
    assert.deepEqual(notebook.toJSON(), before);
    assert.deepEqual(journal.undo(notebook, 'r1'), { cells: [], kept: [] });
  });

  it('leaves cells alone that somebody changed since', () => {
    const notebook = open(code('a', '1'), code('b', '2'));
    const journal = new Journal();
    journal.record(
      'r1',
      apply(notebook, [
        op({ op: 'replace', cell_id: 'a', source: 'agent' }),
        op({ op: 'replace', cell_id: 'b', source: 'agent' })
      ]).inverse
    );
    notebook.cells[0]!.setSource('mine');
    const { cells, kept } = journal.undo(notebook, 'r1');
    assert.deepEqual(kept, ['a']);
    assert.deepEqual(cells.map(cell => cell.id), ['b']);
    assert.deepEqual(shown(notebook), ['a:mine', 'b:2']);
  });
});

describe('writing a source', () => {
  it('changes only what differs and never splits a character', () => {
    for (const [old, fresh] of [
      ['a😀b', 'a😁b'],
      ['😀', '😁'],
      ['😀😀', '😀'],
      ['', '😀'],
      ['abc', ''],
      ['aaa', 'aa'],
      ['x = 1\ny = 2', 'x = 1\nz = 3\ny = 2']
    ] as const) {
      const notebook = open(code('a', old));
      writeSource(notebook.cells[0]!, fresh);
      assert.equal(notebook.cells[0]!.getSource(), fresh);
    }
  });
});

describe('the hash of a source', () => {
  it('is the start of the SHA-256 of its UTF-8', () => {
    for (const text of ['', 'abc', 'é😀', 'x'.repeat(55), 'x'.repeat(56), 'x'.repeat(64), '\n'.repeat(10_000)]) {
      assert.equal(sourceHash(text), createHash('sha256').update(text).digest('hex').slice(0, 12));
    }
  });

  it('counts a lone surrogate as a question mark, as the kernel does', () => {
    assert.equal(sourceHash('a\ud83cb'), sourceHash('a?b'));
  });
});
