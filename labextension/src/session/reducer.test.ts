import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { anyRun, isOrderly, joined } from '../gallery/anyRun';
import * as scenes from '../gallery/scenes';
import { Script } from '../gallery/script';
import type { Event, EventParams, HelloResult, Snapshot } from '../protocol/generated';
import {
  applyEvent,
  applyToRun,
  fromHello,
  fromSnapshot,
  runFromSnapshot,
  withQueued,
  withRun
} from './reducer';
import { EMPTY_SESSION, emptyRun, runOf, runsOfCell } from './state';
import type { RunState, SessionState, TurnItem } from './state';

const READY: SessionState = { ...EMPTY_SESSION, connection: 'ready', sessionId: 'session-1' };

const told = (event: Event, first = 0): EventParams => ({ seq: event.seq, first, run_id: event.run_id, event });

function live(events: readonly Event[], state = READY): SessionState {
  return events.reduce((now, event) => applyEvent(now, told(event)), state);
}

function snapshotOf(events: readonly Event[]): RunState {
  const last = events[events.length - 1];
  return runFromSnapshot({
    version: 1,
    run_id: 'random',
    session_id: '',
    cell_id: null,
    events: joined(events),
    seq: last?.seq ?? 0,
    end: null
  });
}

const kinds = (run: RunState): string[] => run.items.map(item => item.kind);
const itemOf = <K extends TurnItem['kind']>(run: RunState, kind: K): Extract<TurnItem, { kind: K }> => {
  const found = run.items.find(item => item.kind === kind);
  assert.ok(found, `no ${kind} in ${kinds(run).join(', ')}`);
  return found as Extract<TurnItem, { kind: K }>;
};

describe('live events and a snapshot', () => {
  const scripts: Record<string, () => Script> = {
    done: scenes.doneTurn,
    reads: scenes.readsTurn,
    failed: scenes.failedTurn,
    agents: scenes.agentTurn,
    outputs: scenes.outputsTurn,
    denied: scenes.deniedTurn,
    stopped: scenes.stoppedTurn
  };
  for (const [name, script] of Object.entries(scripts)) {
    it(`give the same state for the scene "${name}"`, () => {
      const { events, runId } = script();
      const heard = runOf(live(events), runId);
      const shown = runFromSnapshot({ ...script().snapshot(), session_id: '', events: joined(events) });
      assert.deepEqual(heard, shown);
    });
  }

  it('give the same state for any run', () => {
    for (let seed = 1; seed <= 400; seed++) {
      const { events } = anyRun(seed);
      const orderly = events.reduce<Event[]>((kept, event) => (isOrderly([...kept, event]) ? [...kept, event] : kept), []);
      const numbered = orderly.map((event, at) => ({ ...event, seq: at + 1 }));
      assert.deepEqual(runOf(live(numbered), 'random'), snapshotOf(numbered), `seed ${seed}`);
    }
  });

  it('give the same state when the snapshot is taken in the middle', () => {
    const { events, runId } = scenes.doneTurn();
    for (let cut = 1; cut < events.length; cut++) {
      const before = events.slice(0, cut);
      const run = runFromSnapshot({ ...scenes.doneTurn().snapshot(), end: null, seq: cut, events: joined(before) });
      const state = live(events.slice(cut), { ...READY, runs: [run], running: runId });
      assert.deepEqual(runOf(state, runId)?.items, runOf(live(events), runId)?.items, `cut at ${cut}`);
      assert.deepEqual(state.gaps, []);
    }
  });
});

describe('the numbers of events', () => {
  const { events } = scenes.doneTurn();

  it('show a gap, which a snapshot closes', () => {
    const state = live(events.filter((_, at) => at !== 9 && at !== 10));
    assert.deepEqual(state.gaps, ['done']);
    const closed = withRun(state, scenes.doneTurn().snapshot());
    assert.deepEqual(closed.gaps, []);
    assert.deepEqual(runOf(closed, 'done')?.items, runOf(live(events), 'done')?.items);
  });

  it('an event heard twice changes nothing', () => {
    const once = live(events);
    assert.equal(live(events, once), once);
  });

  it('a joined delta that follows is no gap, one that overlaps or skips is', () => {
    const script = new Script('run').begin('x').reply().say('a', 'b', 'c', 'd');
    const [begin, reply, a, b, , d] = script.events;
    assert.ok(begin && reply && a && b && d && d.type === 'text_delta');
    const upToReply = live([begin, reply]);
    const whole = applyEvent(upToReply, told({ ...d, text: 'abcd' }, 3));
    assert.deepEqual(whole.gaps, []);
    assert.equal(itemOf(runOf(whole, 'run')!, 'text').text, 'abcd');
    assert.deepEqual(applyEvent(live([a, b], upToReply), told({ ...d, text: 'abcd' }, 3)).gaps, ['run']);
    assert.deepEqual(applyEvent(upToReply, told({ ...d, text: 'bcd' }, 4)).gaps, ['run']);
  });

  it('a run heard of in its middle is known to be incomplete', () => {
    const late = events[5];
    assert.ok(late);
    const state = applyEvent(READY, told(late));
    assert.deepEqual(state.gaps, ['done']);
    assert.equal(runOf(state, 'done')?.seq, 6);
  });

  it('a snapshot that is older than what was heard does not win', () => {
    const state = live(events);
    const old = { ...scenes.doneTurn().snapshot(), events: events.slice(0, 4), seq: 4, end: null };
    assert.equal(withRun(state, old), state);
  });
});

describe('a run', () => {
  it('holds its items in the order in which they came', () => {
    const run = runFromSnapshot(scenes.doneTurn().snapshot());
    assert.deepEqual(kinds(run), ['thinking', 'text', 'tool', 'tool', 'approval', 'tool', 'text']);
    assert.equal(run.end, 'completed');
    assert.deepEqual(run.usage, { turns: 3, input: 8100, cached: 6900, output: 410, costUsd: 0.0213, durationMs: 14_200 });
  });

  it('skips events of types it does not know', () => {
    const run = applyToRun(emptyRun('run'), { type: 'hologram', run_id: 'run', seq: 1, agent_id: 'main', at: 0 } as unknown as Event);
    assert.deepEqual(run, { ...emptyRun('run'), seq: 1 });
    const state = applyEvent(live(scenes.doneTurn().events.slice(0, 2)), {
      seq: 3,
      first: 0,
      run_id: 'done',
      event: { type: 'hologram', run_id: 'done', seq: 3, agent_id: 'main', at: 0 } as unknown as Event
    });
    assert.deepEqual(state.gaps, []);
    assert.equal(runOf(state, 'done')?.seq, 3);
  });

  it('goes from written to waiting to running to done', () => {
    const script = new Script('run').begin('x').reply().call('t', 'Write', { verb: 'Write' });
    const states = (): string => itemOf(runOf(live(script.events), 'run')!, 'tool').state;
    assert.equal(itemOf(runOf(live(script.events.slice(0, 4)), 'run')!, 'tool').state, 'writing');
    assert.equal(itemOf(runOf(live(script.events.slice(0, 4)), 'run')!, 'tool').partialInput, '{}');
    assert.equal(states(), 'running');
    script.ask('t', 'Write', { title: 'Write?', preview: { kind: 'text', text: '' } });
    assert.equal(states(), 'waiting');
    script.answer('t', 'allow_once');
    assert.equal(states(), 'running');
    script.done('t', { status: 'error' });
    assert.equal(states(), 'error');
  });

  it('a tombstone takes back text, thinking, calls and questions of its message, and only those', () => {
    const script = new Script('run')
      .begin('x')
      .reply(1)
      .say('kept')
      .reply(2)
      .think('hm', 1)
      .say('gone')
      .note('between')
      .call('t', 'Write', { verb: 'Write' })
      .ask('t', 'Write', { title: 'Write?', preview: { kind: 'text', text: '' } });
    script.add('tombstone', { message_id: 'run-message-2', reason: 'another model takes over' });
    script.done('t', { status: 'cancelled' }).reply(3).say('new');
    const run = runOf(live(script.events), 'run')!;
    assert.deepEqual(kinds(run), ['text', 'withdrawn', 'notice', 'text']);
    const withdrawn = itemOf(run, 'withdrawn');
    assert.equal(withdrawn.reason, 'another model takes over');
    assert.deepEqual(withdrawn.parts.map(part => part.kind), ['thinking', 'text', 'tool', 'approval']);
    assert.equal(new Set(run.items.map(item => item.key)).size, run.items.length);
  });

  it('a call that was taken back and starts late stays away', () => {
    const script = new Script('run').begin('x').reply(1);
    script.add('tool_use_started', { message_id: 'run-message-1', index: 0, tool_use_id: 't', tool: 'Read' });
    script.add('tombstone', { message_id: 'run-message-1', reason: 'r' });
    script.add('tool_started', { tool_use_id: 't', tool: 'Read', verb: 'Read', subject: '', input: {}, read_only: true });
    assert.deepEqual(kinds(runOf(live(script.events), 'run')!), ['withdrawn']);
  });

  it('leaves nothing running after its end', () => {
    const run = runOf(live([...scenes.runningTurn().events, ...new Script('running').end('aborted_tools').events.map(event => ({ ...event, seq: 999 }))]), 'running')!;
    assert.ok(run.items.every(item => item.kind !== 'tool' || item.state === 'ok' || item.state === 'cancelled'));
    assert.equal(run.end, 'aborted_tools');
  });

  it('keeps what a sub-agent does inside the sub-agent', () => {
    const run = runFromSnapshot(scenes.agentTurn().snapshot());
    const agent = itemOf(run, 'agent');
    assert.deepEqual(agent.items.map(item => item.kind), ['text']);
    assert.equal(agent.end, 'completed');
    assert.equal(run.model, 'claude-sonnet-4-5');
  });

  it('joins what was printed in a row', () => {
    const script = new Script('run').begin('x').reply().call('t', 'Python', { verb: 'Run' });
    for (const text of ['a', 'b\n', 'c']) {
      script.add('tool_progress', { tool_use_id: 't', text: '', outputs: [{ output_type: 'stream', name: 'stdout', text }] });
    }
    script.add('tool_progress', { tool_use_id: 't', text: '', outputs: [{ output_type: 'stream', name: 'stderr', text: '!' }] });
    const tool = itemOf(runOf(live(script.events), 'run')!, 'tool');
    assert.deepEqual(tool.outputs.map(output => output.text), ['ab\nc', '!']);
  });

  it('changes no value that was given out before', () => {
    const { events } = scenes.doneTurn();
    let state = READY;
    const given: [SessionState, string][] = [];
    for (const event of events) {
      state = applyEvent(state, told(event));
      given.push([state, JSON.stringify(state)]);
    }
    assert.ok(given.every(([value, json]) => JSON.stringify(value) === json));
  });

  it('a delta touches one item and leaves the others the same objects', () => {
    const script = scenes.doneTurn();
    const before = runOf(live(script.events.slice(0, -2)), 'done')!;
    const event = { ...new Script('done').add('text_delta', { message_id: 'done-message-3', index: 0, text: 'more' }).events[0]!, seq: 900 };
    const after = applyToRun(before, event);
    const changed = after.items.filter((item, at) => item !== before.items[at]);
    assert.deepEqual(changed.map(item => item.kind), ['text']);
  });
});

describe('a session', () => {
  const model = { model: 'm', offline: false, endpoint: '', key_source: '' };
  const snapshot = (more: Partial<Snapshot>): Snapshot => ({
    session_id: 'session-1',
    runs: [],
    running: null,
    pending: [],
    mode: 'default',
    model,
    saved: true,
    ...more
  });

  it('begins with what hello says', () => {
    const script = scenes.pythonQuestion();
    const hello: HelloResult = {
      version: '0.1.0',
      session_id: 'session-1',
      mode: 'plan',
      model,
      snapshot: snapshot({ runs: [script.snapshot()], running: 'python', pending: script.pending, saved: false }),
      pending: script.pending,
      skills: scenes.SKILLS,
      offered: { session_id: 'session-0', title: 'Before', updated: '' }
    };
    const state = fromHello(hello);
    assert.equal(state.offered?.title, 'Before');
    assert.equal(fromSnapshot(snapshot({}), state).offered?.title, 'Before');
    assert.equal(fromSnapshot(snapshot({ session_id: 'session-0' }), state).offered, null);
    assert.equal(state.connection, 'ready');
    assert.equal(state.mode, 'plan');
    assert.equal(state.running, 'python');
    assert.equal(state.saved, false);
    assert.deepEqual(state.pending.map(request => request.request_id), ['ask-p1']);
    assert.equal(state.skills.length, scenes.SKILLS.length);
    assert.equal(runsOfCell(state, 'cell-1').length, 1);
  });

  it('asks until it is answered, in order, and no longer than the run lasts', () => {
    const script = scenes.stackOfQuestions();
    const state = live(script.events);
    assert.deepEqual(state.pending.map(request => request.request_id), ['ask-s0', 'ask-s1', 'ask-s2']);
    script.answer('s1', 'deny');
    assert.deepEqual(live(script.events).pending.map(request => request.request_id), ['ask-s0', 'ask-s2']);
    script.end('aborted_tools');
    const ended = live(script.events);
    assert.deepEqual(ended.pending, []);
    assert.equal(ended.running, null);
  });

  it('a queued text goes when it was taken, and only one of two that are the same', () => {
    const state = withQueued(withQueued(live(scenes.runningTurn().events), 'and plot'), 'and plot');
    const taken = new Script('running').add('prompt_taken', { text: 'and plot' }).events[0];
    assert.ok(taken);
    const after = applyEvent(state, told({ ...taken, seq: 500 }));
    assert.deepEqual(after.queued, ['and plot']);
    assert.equal(runOf(after, 'running')?.items.at(-1)?.kind, 'prompt');
  });

  it('a snapshot of another session forgets what was queued for the old one', () => {
    const state = withQueued({ ...READY, running: 'run' }, 'text');
    assert.deepEqual(fromSnapshot(snapshot({ running: 'run' }), state).queued, ['text']);
    assert.deepEqual(fromSnapshot(snapshot({ session_id: 'session-2' }), state).queued, []);
  });

  it('two thousand deltas in a long run cost no more than one copy of its list each', () => {
    const script = new Script('run').begin('x');
    for (let turn = 1; turn <= 100; turn++) {
      script.reply(turn).say('text');
    }
    script.reply(101).say(...Array.from({ length: 2000 }, () => 'x'));
    const run = runOf(live(script.events), 'run')!;
    assert.equal(itemOf({ ...run, items: run.items.slice(-1) }, 'text').text.length, 2000);
    assert.equal(run.items.length, 101);
  });
});
