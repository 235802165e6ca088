/** Events and snapshots → state. Pure: nothing here knows a clock, a comm or a page. */
import type {
  Event,
  EventParams,
  HelloResult,
  RunSnapshot,
  RunStarted,
  SetResult,
  Snapshot
} from '../protocol/generated';
import { applyToItems } from './items';
import { EMPTY_SESSION, emptyRun, runOf } from './state';
import type { RunState, SessionState } from './state';

/** These may come joined, under the number of their last part. */
const DELTAS: ReadonlySet<string> = new Set([
  'text_delta',
  'thinking_delta',
  'tool_input_delta',
  'tool_progress'
]);

/** The whole state a `hello` answers. */
export function fromHello(hello: HelloResult): SessionState {
  const state = fromSnapshot(hello.snapshot);
  return {
    ...state,
    sessionId: hello.session_id,
    mode: hello.mode,
    model: hello.model,
    // Older kernels send the questions beside the snapshot, newer ones in it.
    pending: hello.pending.length > 0 ? hello.pending : state.pending,
    skills: hello.skills,
    offered: hello.offered ?? null
  };
}

/** A session as a snapshot tells it; what a snapshot does not hold is kept from `before`. */
export function fromSnapshot(
  snapshot: Snapshot,
  before: SessionState = EMPTY_SESSION
): SessionState {
  const same = before.sessionId === snapshot.session_id;
  return {
    ...before,
    connection: 'ready',
    sessionId: snapshot.session_id,
    runs: snapshot.runs.map(runFromSnapshot),
    running: snapshot.running,
    pending: snapshot.pending,
    mode: snapshot.mode,
    model: snapshot.model,
    saved: snapshot.saved,
    queued: same && snapshot.running !== null ? before.queued : [],
    gaps: [],
    offered: same ? before.offered : null
  };
}

/** A run from its joined events: the same state as hearing every delta by itself. */
export function runFromSnapshot(snapshot: RunSnapshot): RunState {
  let run: RunState = {
    ...emptyRun(snapshot.run_id),
    sessionId: snapshot.session_id,
    cellId: snapshot.cell_id
  };
  for (const event of snapshot.events) {
    run = applyToRun(run, event);
  }
  // A joined event carries the number of its last part, so numbers may go down on the way.
  return { ...run, seq: Math.max(run.seq, snapshot.seq), end: run.end ?? snapshot.end };
}

/** Put a run's snapshot into the session: it replaces what was there and closes its gap. */
export function withRun(state: SessionState, snapshot: RunSnapshot): SessionState {
  const run = runFromSnapshot(snapshot);
  const known = runOf(state, run.runId);
  if (known !== null && known.seq > run.seq && !state.gaps.includes(run.runId)) {
    return state;
  }
  return {
    ...replaceRun(state, run),
    gaps: state.gaps.filter(id => id !== run.runId),
    running: run.end !== null && state.running === run.runId ? null : state.running
  };
}

/** The kernel's answer to `set`. */
export function withSettings(state: SessionState, result: SetResult): SessionState {
  return { ...state, mode: result.mode, model: result.model };
}

/** A text was sent while a run was on; it stands as queued until a step takes it. */
export function withQueued(state: SessionState, text: string): SessionState {
  return { ...state, queued: [...state.queued, text] };
}

/**
 * One `event` notification. An event heard before changes nothing; one that shows that others
 * were lost is applied and puts its run into `gaps`.
 */
export function applyEvent(state: SessionState, params: EventParams): SessionState {
  const { event, seq } = params;
  const known = runOf(state, params.run_id);
  if (known !== null && seq <= known.seq) {
    return state;
  }
  const before = known ?? emptyRun(params.run_id);
  const run = { ...applyToRun(before, event), seq };
  const next = applyToSession(replaceRun(state, run), event, params.run_id);
  if (!leavesGap(before, params) || state.gaps.includes(params.run_id)) {
    return next;
  }
  return { ...next, gaps: [...next.gaps, params.run_id] };
}

/** Whether events between the newest one we have and this one never came. */
function leavesGap(run: RunState, { event, seq, first }: EventParams): boolean {
  if (event.type === 'run_started') {
    return false;
  }
  if (first > 0) {
    // Joined on the way. If it begins behind us, a part of it was heard before: ask as well.
    return first !== run.seq + 1;
  }
  return !DELTAS.has(event.type) && seq !== run.seq + 1;
}

function replaceRun(state: SessionState, run: RunState): SessionState {
  for (let at = state.runs.length - 1; at >= 0; at--) {
    if (state.runs[at]?.runId === run.runId) {
      const runs = state.runs.slice();
      runs[at] = run;
      return { ...state, runs };
    }
  }
  return { ...state, runs: [...state.runs, run] };
}

/** What an event means beyond its run: who is asked, what runs, what was taken. */
function applyToSession(state: SessionState, event: Event, runId: string): SessionState {
  switch (event.type) {
    case 'run_started':
      return { ...state, running: runId };
    case 'run_finished':
      return event.agent_id !== 'main'
        ? state
        : {
            ...state,
            running: state.running === runId ? null : state.running,
            pending: state.pending.filter(request => request.run_id !== runId),
            queued: []
          };
    case 'permission_requested':
      return {
        ...state,
        pending: [...state.pending.filter(known => known.request_id !== event.request_id), event]
      };
    case 'permission_resolved':
      return {
        ...state,
        pending: state.pending.filter(known => known.request_id !== event.request_id)
      };
    case 'prompt_taken': {
      const at = state.queued.indexOf(event.text);
      return at < 0 ? state : { ...state, queued: state.queued.filter((_, i) => i !== at) };
    }
    case 'skills_listed':
      return { ...state, skills: event.skills };
    default:
      return state;
  }
}

/** One recorded event of a run. A type this reader does not know changes nothing. */
export function applyToRun(run: RunState, event: Event): RunState {
  const items = applyToItems(run.items, event);
  const next: RunState = { ...run, items, seq: Math.max(run.seq, event.seq) };
  switch (event.type) {
    case 'run_started':
      return event.agent_id === 'main' ? { ...next, ...started(run, event) } : next;
    case 'message_started':
      return event.agent_id === 'main'
        ? { ...next, model: event.model || run.model, usage: withTurns(run, event.turn) }
        : next;
    case 'todo_updated':
      return event.agent_id === 'main' ? { ...next, todos: event.todos } : next;
    case 'notebook_changed':
      return { ...next, changes: [...run.changes, ...event.changes] };
    case 'usage':
      return {
        ...next,
        usage: {
          ...run.usage,
          input: run.usage.input + totalInput(event.usage),
          cached: run.usage.cached + event.usage.cache_read_input_tokens,
          output: run.usage.output + event.usage.output_tokens,
          costUsd: event.cost_usd === null ? run.usage.costUsd : (run.usage.costUsd ?? 0) + event.cost_usd
        }
      };
    case 'run_finished':
      return event.agent_id === 'main' ? { ...next, ...finished(run, event) } : next;
    default:
      return next;
  }
}

function started(run: RunState, event: RunStarted): Partial<RunState> {
  return {
    prompt: event.prompt,
    origin: event.origin,
    mode: event.mode,
    model: event.model,
    offline: event.offline,
    cellId: event.cell_id ?? run.cellId,
    notebookPath: event.notebook_path ?? run.notebookPath,
    startedAt: event.at
  };
}

function finished(run: RunState, event: Extract<Event, { type: 'run_finished' }>): Partial<RunState> {
  const total = totalInput(event.usage);
  const counted = total > 0 || event.usage.output_tokens > 0;
  return {
    end: event.end,
    answer: event.text,
    detail: event.detail,
    usage: {
      turns: Math.max(run.usage.turns, event.turns),
      input: counted ? total : run.usage.input,
      cached: counted ? event.usage.cache_read_input_tokens : run.usage.cached,
      output: counted ? event.usage.output_tokens : run.usage.output,
      costUsd: event.cost_usd ?? run.usage.costUsd,
      durationMs: event.duration_ms
    }
  };
}

function withTurns(run: RunState, turn: number): RunState['usage'] {
  return turn > run.usage.turns ? { ...run.usage, turns: turn } : run.usage;
}

/** All tokens the model read: fresh, cached and newly cached. */
function totalInput(usage: {
  input_tokens: number;
  cache_read_input_tokens: number;
  cache_creation_input_tokens: number;
}): number {
  return usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens;
}
