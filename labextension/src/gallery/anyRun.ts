/** Runs in any order, and the list that the kernel would keep of them: for the reducer's tests. */
import type { Event } from '../protocol/generated';
import { Script } from './script';

/** The list the kernel keeps: deltas of one block, and progress of one call, are one event. */
export function joined(events: readonly Event[]): Event[] {
  const list: Event[] = [];
  const open = new Map<string, number>();
  for (const event of events) {
    const key = keyOf(event);
    const at = key === null ? undefined : open.get(key);
    const before = at === undefined ? undefined : list[at];
    if (at === undefined || before === undefined) {
      if (key !== null) {
        open.set(key, list.length);
      }
      list.push(event);
    } else {
      list[at] = join(before, event);
    }
  }
  return list;
}

function keyOf(event: Event): string | null {
  switch (event.type) {
    case 'text_delta':
    case 'thinking_delta':
      return `${event.type} ${event.agent_id} ${event.message_id} ${event.index}`;
    case 'tool_input_delta':
    case 'tool_progress':
      return `${event.type} ${event.agent_id} ${event.tool_use_id}`;
    default:
      return null;
  }
}

function join(before: Event, event: Event): Event {
  const { at } = before;
  if (event.type === 'text_delta' && before.type === 'text_delta') {
    return { ...event, at, text: before.text + event.text };
  }
  if (event.type === 'thinking_delta' && before.type === 'thinking_delta') {
    return { ...event, at, text: before.text + event.text };
  }
  if (event.type === 'tool_input_delta' && before.type === 'tool_input_delta') {
    return { ...event, at, partial_json: before.partial_json + event.partial_json };
  }
  if (event.type === 'tool_progress' && before.type === 'tool_progress') {
    const lines = [before.text, event.text].filter(text => text !== '').map(text => text.replace(/\n$/, ''));
    return { ...event, at, text: lines.join('\n'), outputs: [...before.outputs, ...event.outputs] };
  }
  return event;
}

/** A small generator of numbers: the same runs on every machine. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return below => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Any order of what a kernel may tell, also orders it never should. */
export function anyRun(seed: number): Script {
  const pick = random(seed);
  const script = new Script('random', null).begin('go');
  const agents = ['main', 'agent-1'] as const;
  script.add('agent_started', { child_id: 'agent-1', tool_use_id: null, agent_type: 'explore', description: '' });
  for (let step = 0; step < 60; step++) {
    const message = `m${pick(3)}`;
    const call = `t${pick(4)}`;
    const agent = agents[pick(5) === 0 ? 1 : 0];
    switch (pick(13)) {
      case 0:
        script.add('message_started', { message_id: message, model: 'model', turn: pick(4) }, agent);
        break;
      case 1:
      case 2:
      case 3:
        script.add('text_delta', { message_id: message, index: pick(2), text: 'abc'.slice(0, pick(4)) }, agent);
        break;
      case 4:
        script.add('thinking_delta', { message_id: message, index: 2, text: 'h', seconds: pick(3) === 0 ? 2 : null }, agent);
        break;
      case 5:
        script.add('tool_use_started', { message_id: message, index: 3, tool_use_id: call, tool: 'Read' }, agent);
        break;
      case 6:
        script.add('tool_input_delta', { tool_use_id: call, partial_json: '{' }, agent);
        break;
      case 7:
        script.add('tool_started', { tool_use_id: call, tool: 'Read', verb: 'Read', subject: 'a', input: {}, read_only: true }, agent);
        break;
      case 8: {
        const outputs = pick(2) === 0 ? [] : [{ output_type: 'stream' as const, name: 'stdout' as const, text: 'x' }];
        script.add('tool_progress', { tool_use_id: call, text: pick(2) === 0 ? 'line\n' : '', outputs }, agent);
        break;
      }
      case 9:
        script.add('tool_finished', { tool_use_id: call, status: 'ok', fact: '', content: [], preview: null, duration_ms: 1 }, agent);
        break;
      case 10:
        script.ask(call, 'Read', { title: '?', preview: { kind: 'text', text: '' } });
        break;
      case 11:
        script.answer(call, 'allow_once');
        break;
      default:
        script.note('n');
    }
  }
  return pick(2) === 0 ? script : script.end();
}

/** What every kernel keeps to: a call begins before it is told of; the last part of thinking is the
 * one with its time. Joining moves what was said to the place of the first part, so order matters. */
export function isOrderly(events: readonly Event[]): boolean {
  const thought = new Set<string>();
  const begun = new Set<string>();
  const started = new Set<string>();
  return events.every(event => {
    switch (event.type) {
      case 'tool_use_started':
        begun.add(`${event.agent_id} ${event.tool_use_id}`);
        return true;
      case 'tool_started':
        begun.add(`${event.agent_id} ${event.tool_use_id}`);
        started.add(`${event.agent_id} ${event.tool_use_id}`);
        return true;
      case 'permission_requested':
        return started.has(`${event.agent_id} ${event.tool_use_id}`);
      case 'tool_input_delta':
        return begun.has(`${event.agent_id} ${event.tool_use_id}`) && !started.has(`${event.agent_id} ${event.tool_use_id}`);
      case 'tool_progress':
        return begun.has(`${event.agent_id} ${event.tool_use_id}`);
      case 'thinking_delta': {
        const key = `${event.agent_id} ${event.message_id}`;
        const goesOn = !thought.has(key);
        if (event.seconds !== null) {
          thought.add(key);
        }
        return goesOn;
      }
      default:
        return true;
    }
  });
}

