/** What a page knows of one session. Values only: every picture in `ui/` is a function of them. */
import type {
  CellChange,
  CellOutput,
  JsonValue,
  ModelStatus,
  PermissionMode,
  PermissionRequested,
  PermissionResolved,
  Preview,
  ResultContent,
  RunEnd,
  RunStarted,
  SessionSummary,
  SkillInfo,
  TodoItem
} from '../protocol/generated';

/**
 * `none`: no kernel, or one that is not ours to ask yet; `unavailable`: the kernel runs without the
 * extension; `lost`: it was there and stopped answering.
 */
export type Connection = 'none' | 'connecting' | 'ready' | 'unavailable' | 'lost';

export interface SessionState {
  readonly connection: Connection;
  readonly sessionId: string;
  readonly runs: readonly RunState[];
  /** Id of the run that is on. */
  readonly running: string | null;
  /** Questions that the live kernel waits for, oldest first. Only these may be answered. */
  readonly pending: readonly PermissionRequested[];
  readonly mode: PermissionMode;
  readonly model: ModelStatus | null;
  readonly skills: readonly SkillInfo[];
  /** Whether the session's file took everything so far. */
  readonly saved: boolean;
  /** Texts sent during a run that no step has taken yet, oldest first. */
  readonly queued: readonly string[];
  /** Runs of which events are missing: the store asks for their snapshot. */
  readonly gaps: readonly string[];
  /** The notebook's own conversation, from before the kernel's start; null: there is none. */
  readonly offered: SessionSummary | null;
}

export interface RunState {
  readonly runId: string;
  readonly sessionId: string;
  readonly cellId: string | null;
  readonly notebookPath: string | null;
  readonly prompt: string;
  readonly origin: RunStarted['origin'];
  readonly mode: PermissionMode;
  readonly model: string;
  /** The scripted server answers: no model is configured. */
  readonly offline: boolean;
  /** Seconds since the epoch; 0 before `run_started` was seen. */
  readonly startedAt: number;
  /** Sequence number of the newest event in here. */
  readonly seq: number;
  readonly items: readonly TurnItem[];
  readonly todos: readonly TodoItem[];
  readonly changes: readonly CellChange[];
  readonly usage: RunUsage;
  readonly end: RunEnd | null;
  /** The final answer, once it ended. */
  readonly answer: string;
  /** What went wrong, in words for the person. */
  readonly detail: string;
}

/** Sums over the run. `costUsd` is null while no call's price is known. */
export interface RunUsage {
  readonly turns: number;
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  readonly costUsd: number | null;
  readonly durationMs: number;
}

export type TurnItem =
  | TextItem
  | ThinkingItem
  | ToolItem
  | ApprovalItem
  | NoticeItem
  | SkillItem
  | AgentItem
  | PromptItem
  | CompactedItem
  | WithdrawnItem;

/** `key` is unique in its run and stays with the item for ever. */
interface ItemBase {
  readonly key: string;
}

export interface TextItem extends ItemBase {
  readonly kind: 'text';
  readonly messageId: string;
  readonly index: number;
  readonly text: string;
}

export interface ThinkingItem extends ItemBase {
  readonly kind: 'thinking';
  readonly messageId: string;
  readonly index: number;
  readonly text: string;
  /** Null while the model still thinks. */
  readonly seconds: number | null;
  readonly startedAt: number;
}

/** `writing`: the model still writes the call; `waiting`: a person is asked. */
export type ToolState =
  | 'writing'
  | 'waiting'
  | 'running'
  | 'ok'
  | 'error'
  | 'denied'
  | 'cancelled';

export interface ToolItem extends ItemBase {
  readonly kind: 'tool';
  readonly toolUseId: string;
  readonly messageId: string | null;
  readonly tool: string;
  readonly verb: string;
  readonly subject: string;
  readonly state: ToolState;
  readonly readOnly: boolean;
  /** The raw JSON so far; empty once `input` is whole. */
  readonly partialInput: string;
  readonly input: { readonly [key: string]: JsonValue };
  readonly startedAt: number;
  /** Lines it said while it ran. */
  readonly progress: string;
  readonly outputs: readonly CellOutput[];
  readonly fact: string;
  readonly content: readonly ResultContent[];
  readonly preview: Preview | null;
  readonly durationMs: number;
}

export interface ApprovalItem extends ItemBase {
  readonly kind: 'approval';
  readonly request: PermissionRequested;
  readonly resolution: PermissionResolved | null;
}

export interface NoticeItem extends ItemBase {
  readonly kind: 'notice';
  readonly level: 'info' | 'warning' | 'error';
  readonly text: string;
  readonly code: string;
  /** Seconds since the epoch at which the waiting ends. */
  readonly until: number | null;
}

export interface SkillItem extends ItemBase {
  readonly kind: 'skill';
  readonly name: string;
  readonly args: string;
  readonly by: 'you' | 'model';
}

/** A sub-agent; what it does is nested. */
export interface AgentItem extends ItemBase {
  readonly kind: 'agent';
  readonly childId: string;
  readonly agentType: string;
  readonly description: string;
  readonly progress: string;
  readonly turns: number;
  readonly items: readonly TurnItem[];
  readonly end: RunEnd | null;
  readonly text: string;
}

/** What the person said while the run was on, at the place where it was taken. */
export interface PromptItem extends ItemBase {
  readonly kind: 'prompt';
  readonly text: string;
}

export interface CompactedItem extends ItemBase {
  readonly kind: 'compacted';
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly summary: string;
}

/** A message that was taken back; `parts` is what stood here, for the fade. */
export interface WithdrawnItem extends ItemBase {
  readonly kind: 'withdrawn';
  readonly messageId: string;
  readonly reason: string;
  readonly parts: readonly TurnItem[];
}

export const NO_USAGE: RunUsage = {
  turns: 0,
  input: 0,
  cached: 0,
  output: 0,
  costUsd: null,
  durationMs: 0
};

export const EMPTY_SESSION: SessionState = {
  connection: 'none',
  sessionId: '',
  runs: [],
  running: null,
  pending: [],
  mode: 'default',
  model: null,
  skills: [],
  saved: true,
  queued: [],
  gaps: [],
  offered: null
};

/** A run of which nothing has been heard but its id. */
export function emptyRun(runId: string): RunState {
  return {
    runId,
    sessionId: '',
    cellId: null,
    notebookPath: null,
    prompt: '',
    origin: 'cell',
    mode: 'default',
    model: '',
    offline: false,
    startedAt: 0,
    seq: 0,
    items: [],
    todos: [],
    changes: [],
    usage: NO_USAGE,
    end: null,
    answer: '',
    detail: ''
  };
}

/** The run with this id, looked for from the newest on. */
export function runOf(state: SessionState, runId: string): RunState | null {
  for (let at = state.runs.length - 1; at >= 0; at--) {
    const run = state.runs[at];
    if (run?.runId === runId) {
      return run;
    }
  }
  return null;
}

/** The runs that a cell shows, oldest first. */
export function runsOfCell(state: SessionState, cellId: string): readonly RunState[] {
  return state.runs.filter(run => run.cellId === cellId);
}
