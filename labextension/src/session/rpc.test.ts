import assert from 'node:assert/strict';
import { describe, it, mock } from 'node:test';
import type { JsonValue } from '../protocol/generated';
import { RpcError, RpcPeer, RpcTimeout, type KernelHandlers } from './rpc';

type Data = { [key: string]: JsonValue };

function peer(handlers: KernelHandlers = {}): { peer: RpcPeer; sent: Data[]; told: string[] } {
  const sent: Data[] = [];
  const told: string[] = [];
  const made = new RpcPeer(
    data => sent.push(structuredClone(data)),
    handlers,
    method => told.push(method)
  );
  return { peer: made, sent, told };
}

const settled = (): Promise<void> => new Promise(resolve => setImmediate(resolve));

describe('the page asks the kernel', () => {
  it('resolves with the result of the answer that carries its id', async () => {
    const { peer: page, sent } = peer();
    const first = page.request('stop', {});
    const second = page.request('ping', {});
    page.receive({ jsonrpc: '2.0', id: sent[1]!['id']!, result: { ok: true } });
    page.receive({ jsonrpc: '2.0', id: sent[0]!['id']!, result: { stopped: false } });
    assert.deepEqual(await first, { stopped: false });
    assert.deepEqual(await second, { ok: true });
  });

  it('rejects with the code and the data of an error answer', async () => {
    const { peer: page, sent } = peer();
    const asked = page.request('set', { mode: 'bypassPermissions' });
    page.receive({ jsonrpc: '2.0', id: sent[0]!['id']!, error: { code: -32602, message: 'no', data: 7 } });
    await assert.rejects(asked, (error: RpcError) => error.code === -32602 && error.data === 7);
  });

  it('sends an answer again with the same id until it is acknowledged, and then no more', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const { peer: page, sent } = peer();
      const params = { request_id: 'q', nonce: 'n', decision: 'allow_once' } as const;
      const asked = page.request('answer', params, { timeout: 60_000, resendAfter: 2000 });
      mock.timers.tick(2000);
      mock.timers.tick(4000);
      assert.equal(sent.length, 3);
      assert.equal(new Set(sent.map(item => item['id'])).size, 1);
      page.receive({ jsonrpc: '2.0', id: sent[0]!['id']!, result: { status: 'accepted' } });
      mock.timers.tick(60_000);
      assert.deepEqual(await asked, { status: 'accepted' });
      assert.equal(sent.length, 3);
    } finally {
      mock.timers.reset();
    }
  });

  it('rejects when no answer comes in time or the connection closes', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const { peer: page } = peer();
      const late = page.request('ping', {}, { timeout: 100 });
      mock.timers.tick(100);
      await assert.rejects(late, RpcTimeout);
      const cut = page.request('ping', {});
      page.close();
      await assert.rejects(cut, RpcTimeout);
      await assert.rejects(page.request('ping', {}), RpcTimeout);
    } finally {
      mock.timers.reset();
    }
  });
});

describe('the kernel asks the page', () => {
  it('answers an unknown method with -32601, also one named like an object’s own', async () => {
    const { peer: page, sent } = peer();
    page.receive({ jsonrpc: '2.0', id: 'k1', method: 'notebook.explode' });
    page.receive({ jsonrpc: '2.0', id: 'k2', method: 'toString' });
    await settled();
    assert.deepEqual(
      sent.map(item => (item['error'] as Data)['code']),
      [-32601, -32601]
    );
  });

  it('passes on the error a handler throws, and hides none', async () => {
    const { peer: page, sent } = peer({
      'notebook.reveal': () => {
        throw new RpcError(-32001, 'no such cell', { cell_ids: [] });
      },
      'notebook.save': () => Promise.reject(new Error('disk full'))
    });
    page.receive({ jsonrpc: '2.0', id: 'k1', method: 'notebook.reveal', params: { cell_id: 'a' } });
    page.receive({ jsonrpc: '2.0', id: 'k2', method: 'notebook.save' });
    await settled();
    assert.deepEqual(
      sent.map(item => item['error']),
      [
        { code: -32001, message: 'no such cell', data: { cell_ids: [] } },
        { code: -32603, message: 'disk full', data: null }
      ]
    );
  });

  it('acts once on a request that is sent twice, and answers it twice', async () => {
    let edits = 0;
    const { peer: page, sent } = peer({
      'notebook.edit': () => ({ cells: [], total_cells: ++edits })
    });
    const request = { jsonrpc: '2.0', id: 'k1', method: 'notebook.edit', params: {} };
    page.receive(request);
    page.receive(request);
    await settled();
    assert.equal(edits, 1);
    assert.deepEqual(sent[0], sent[1]);
  });

  it('takes several messages in one batch, in order', () => {
    const { peer: page, told } = peer();
    page.receive({
      batch: [
        { jsonrpc: '2.0', method: 'event', params: {} },
        { jsonrpc: '2.0', method: 'later', params: {} }
      ]
    });
    assert.deepEqual(told, ['event', 'later']);
  });
});

describe('messages over the limit', () => {
  it('travel as pages under 1 MB that join to the same message, pairs unbroken', async () => {
    const source = '😀"\u0000é'.repeat(200_000);
    const sender = peer({ 'notebook.read': () => ({ path: source, dirty: false }) });
    sender.peer.receive({ jsonrpc: '2.0', id: 'k1', method: 'notebook.read', params: {} });
    await settled();
    assert.ok(sender.sent.length > 1);
    for (const page of sender.sent) {
      assert.ok(Buffer.byteLength(JSON.stringify(page)) < 1_000_000);
      assert.doesNotMatch(page['text'] as string, /\p{Surrogate}/u);
    }
    // The other side joins them whatever order they come in.
    const receiver = peer();
    const asked = receiver.peer.request('ping', {});
    const id = receiver.sent[0]!['id'] as string;
    const pages = [...sender.sent].reverse();
    const whole = sender.sent.map(page => page['text'] as string).join('');
    assert.equal((JSON.parse(whole) as { result: { path: string } }).result.path, source);
    for (const page of pages) {
      receiver.peer.receive({ ...page, text: (page['text'] as string).replace('"id":"k1"', `"id":"${id}"`) });
    }
    assert.equal(((await asked) as unknown as { path: string }).path, source);
  });

  it('are the exception: one just under it goes whole', async () => {
    const { peer: page, sent } = peer({ 'notebook.read': () => ({ path: 'a'.repeat(900_000), dirty: false }) });
    page.receive({ jsonrpc: '2.0', id: 'k1', method: 'notebook.read', params: {} });
    await settled();
    assert.equal(sent.length, 1);
    assert.ok('result' in sent[0]!);
  });
});
