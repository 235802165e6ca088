// Generated from agent_kernel/{events,messages,vocabulary,wire}.py; do not edit.
// Write it anew with: python labextension/scripts/generate_protocol.py

export type JsonValue =
  | string
  | number
  | boolean
  | null
  | JsonValue[]
  | { [key: string]: JsonValue };

export const PROTOCOL = 1;
export const SESSION_TARGET = 'agent_kernel.session';
export const BELL_TARGET = 'agent_kernel.frontend';
export const MAX_MESSAGE_BYTES = 1000000;
export const TURN_MIME = 'application/vnd.agent-kernel.turn+json';
export const SKILLS_MIME = 'application/vnd.agent-kernel.skills+json';
export const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
export const INTERNAL_ERROR = -32603;
export const CELL_NOT_FOUND = -32001;
export const CELL_CHANGED = -32002;
export const CELL_AMBIGUOUS = -32003;
export const NO_NOTEBOOK = -32004;
export const KERNEL_BUSY = -32005;
export const CELL_LOCKED = -32006;

export type MediaType = 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp';

export type ResultContent = TextBlock | ImageBlock;

export type PermissionMode = 'default' | 'acceptEdits' | 'plan' | 'dontAsk' | 'bypassPermissions';

export type Decision = 'allow_once' | 'allow_session' | 'allow_always' | 'deny' | 'deny_stop';

export type RuleDestination = 'session' | 'local' | 'project' | 'user';

export type ToolStatus = 'ok' | 'error' | 'denied' | 'cancelled';

export type Preview = CommandPreview | DiffPreview | CodePreview | CellPreview | TextPreview;

export type Event =
  | RunStarted
  | MessageStarted
  | TextDelta
  | ThinkingDelta
  | ToolUseStarted
  | ToolInputDelta
  | ToolStarted
  | ToolProgress
  | ToolFinished
  | PermissionRequested
  | PermissionResolved
  | QuestionAsked
  | QuestionAnswered
  | PlanProposed
  | PlanResolved
  | TodoUpdated
  | SkillsListed
  | SkillStarted
  | AgentStarted
  | AgentProgress
  | AgentFinished
  | UsageReported
  | Notice
  | Compacted
  | Tombstone
  | NotebookChanged
  | PromptTaken
  | RunFinished;

export type AgentFinished = {
  run_id: string;
  seq: number;
  agent_id: string;
  at: number;
  type: 'agent_finished';
  child_id: string;
  end: RunEnd;
  text: string;
  usage: Usage;
};

export type AgentProgress = {
  run_id: string;
  seq: number;
  agent_id: string;
  at: number;
  type: 'agent_progress';
  child_id: string;
  text: string;
  turns: number;
};

export type AgentStarted = {
  run_id: string;
  seq: number;
  agent_id: string;
  at: number;
  type: 'agent_started';
  child_id: string;
  tool_use_id: string | null;
  agent_type: string;
  description: string;
};

/** `by` "policy": declared rules of a headless front end answered, no person. */
export type AnswerParams = {
  request_id: string;
  nonce: string;
  decision: Decision;
  rule?: string | null | undefined;
  destination?: RuleDestination | null | undefined;
  reason?: string | undefined;
  updated_input?: { [key: string]: JsonValue } | null | undefined;
  by?: 'you' | 'policy' | undefined;
};

export type AnswerResult = {
  status: 'accepted' | 'expired';
};

/** The page closes; `dirty` tells whether unsaved changes were left. */
export type ByeParams = {
  dirty?: boolean | undefined;
};

/** `where` is in the person's words; `source_head` the first line of the cell. */
export type CellChange = {
  cell_id: string;
  op: 'made' | 'edited' | 'deleted' | 'moved' | 'ran';
  hash: string | null;
  where: string;
  source_head: string;
};

/** A cell as the page holds it. `hash` is `source_hash` of `source`. */
export type CellContent = {
  id: string;
  type: 'code' | 'markdown' | 'raw';
  source: string;
  hash: string;
  execution_count?: number | null | undefined;
  outputs?: readonly CellOutput[] | null | undefined;
};

export type CellIdParams = {
  cell_id: string;
};

/** One output of a cell in nbformat's terms; fields its type lacks stay `None`. */
export type CellOutput = {
  output_type: 'stream' | 'display_data' | 'execute_result' | 'error';
  name?: 'stdout' | 'stderr' | null | undefined;
  text?: string | null | undefined;
  data?: { [key: string]: JsonValue } | null | undefined;
  metadata?: { [key: string]: JsonValue } | null | undefined;
  execution_count?: number | null | undefined;
  ename?: string | null | undefined;
  evalue?: string | null | undefined;
  traceback?: readonly string[] | null | undefined;
};

/** An edit of one cell. `where` is in the person's words: "below [3]", "[5]". */
export type CellPreview = {
  kind: 'cell';
  op: 'insert' | 'replace' | 'delete' | 'move' | 'run';
  cell_id: string | null;
  where: string;
  cell_type: 'code' | 'markdown' | 'raw';
  old: string | null;
  new: string | null;
};

export type CodePreview = {
  kind: 'code';
  code: string;
  language: string;
};

export type CommandParams = {
  name: string;
  args?: string | undefined;
  cell_id?: string | null | undefined;
};

export type CommandPreview = {
  kind: 'command';
  command: string;
  cwd: string;
};

export type CommandResult = {
  run_id: string | null;
  text: string | null;
};

export type Compacted = {
  run_id: string;
  seq: number;
  agent_id: string;
  at: number;
  type: 'compacted';
  trigger: 'manual' | 'auto' | 'reactive';
  tokens_before: number;
  tokens_after: number;
  summary: string;
};

export type CompleteParams = {
  text: string;
  cursor: number;
};

/** Replace `text[start:end]` by one of `matches`. */
export type CompleteResult = {
  start: number;
  end: number;
  matches: readonly string[];
};

/** `old` and `new` are the whole texts. `old` None: a new file. */
export type DiffPreview = {
  kind: 'diff';
  path: string;
  old: string | null;
  new: string;
  language: string;
};

/**
 * One edit. `after`/`before` are cell ids for insert and move; neither: at the end.
 *
 * `new_id` fixes the id of an inserted cell; `made_by` marks it as the agent's.
 */
export type EditOp = {
  op: 'insert' | 'replace' | 'delete' | 'move';
  cell_id: string | null;
  after: string | null;
  before: string | null;
  source: string | null;
  cell_type: 'code' | 'markdown' | 'raw' | null;
  expect_hash: string | null;
  new_id: string | null;
};

/** `index` and `hash` are read back from the document; both None for a deleted cell. */
export type EditedCell = {
  id: string;
  hash?: string | null | undefined;
  index?: number | null | undefined;
};

/**
 * The one notification: a recorded event of a run of this kernel.
 *
 * `seq` is the event's own. When deltas were joined on the way, `first` is the `seq` of the
 * first of them, so that a reader can tell joining (`first` follows what it has) from loss.
 */
export type EventParams = {
  seq: number;
  first: number;
  run_id: string;
  event: Event;
};

/** `session_id`: the session that the notebook's metadata names. */
export type HelloParams = {
  client: string;
  version?: string | undefined;
  protocol?: number | undefined;
  notebook_path?: string | null | undefined;
  session_id?: string | null | undefined;
  capabilities?: readonly ('notebook' | 'approvals' | 'run')[] | undefined;
};

/** `offered`: the notebook's own conversation, while this kernel has not begun another. */
export type HelloResult = {
  version: string;
  session_id: string;
  mode: PermissionMode;
  model: ModelStatus;
  snapshot: Snapshot;
  pending: readonly PermissionRequested[];
  skills: readonly SkillInfo[];
  offered: SessionSummary | null;
};

/** `data` is base64 without white space. */
export type ImageBlock = {
  type: 'image';
  media_type: MediaType;
  data: string;
};

/** Code the page sends as an `execute_request` without history (panel runs). */
export type KernelExecuteParams = {
  code: string;
};

export type KernelExecuteResult = {
  status: 'ok' | 'error' | 'aborted';
  outputs?: readonly CellOutput[] | undefined;
};

/** One part of a message over 1 MB; the parts' `text` joined in order is its JSON. */
export type MessagePage = {
  jsonrpc: '2.0';
  page: number;
  pages: number;
  message: string;
  text: string;
};

export type MessageStarted = {
  run_id: string;
  seq: number;
  agent_id: string;
  at: number;
  type: 'message_started';
  message_id: string;
  model: string;
  turn: number;
};

/** `offline`: no model is configured and the scripted server answers. */
export type ModelStatus = {
  model: string;
  offline: boolean;
  endpoint: string;
  key_source: string;
};

export type NewResult = {
  session_id: string;
};

export type NotebookChanged = {
  run_id: string;
  seq: number;
  agent_id: string;
  at: number;
  type: 'notebook_changed';
  path: string;
  channel: 'page' | 'file';
  changes: readonly CellChange[];
};

/** All or nothing, one undo step. `session_id` goes into the metadata (first run). */
export type NotebookEditParams = {
  run_id: string;
  edits: readonly EditOp[];
  session_id: string | null;
};

/** `kept` (undo only): cells left alone, for somebody has changed them since. */
export type NotebookEditResult = {
  cells?: readonly EditedCell[] | undefined;
  total_cells?: number | undefined;
  kept?: readonly string[] | undefined;
};

/** `outputs` are nbformat output objects. */
export type NotebookOutputsParams = {
  cell_id: string;
  outputs: readonly ({ [key: string]: JsonValue })[];
  execution_count: number | null;
  append: boolean;
};

export type NotebookReadParams = {
  outputs: boolean;
  cell_ids: readonly string[] | null;
};

export type NotebookReadResult = {
  path: string;
  dirty: boolean;
  active_cell_id?: string | null | undefined;
  cells?: readonly CellContent[] | undefined;
  total_cells?: number | undefined;
};

/**
 * `subshell`: the main shell is blocked by a running cell, so run on a separate subshell.
 *
 * `expect_hash`: of the source that was allowed. The page compares it when the cell begins, for
 * the person may have typed while the kernel was busy.
 */
export type NotebookRunParams = {
  cell_id: string;
  subshell: boolean;
  run_id: string;
  expect_hash: string | null;
};

export type NotebookRunResult = {
  status: 'ok' | 'error' | 'aborted';
  execution_count?: number | null | undefined;
  outputs?: readonly CellOutput[] | undefined;
};

/** Something the person should know. `code` is stable; `until`: count down to it. */
export type Notice = {
  run_id: string;
  seq: number;
  agent_id: string;
  at: number;
  type: 'notice';
  level: 'info' | 'warning' | 'error';
  text: string;
  code: string;
  until: number | null;
};

export type OkResult = {
  ok?: boolean | undefined;
};

/** Waits for a person. `reason` says why it asks, `where` where it acts. */
export type PermissionRequested = {
  run_id: string;
  seq: number;
  agent_id: string;
  at: number;
  type: 'permission_requested';
  request_id: string;
  nonce: string;
  tool_use_id: string;
  tool: string;
  title: string;
  where: string;
  reason: string;
  input: { [key: string]: JsonValue };
  preview: Preview;
  read_only: boolean;
  suggestions: readonly RuleSuggestion[];
};

/** `by`: "you" (a person), or "stop" when the run was stopped while it waited. */
export type PermissionResolved = {
  run_id: string;
  seq: number;
  agent_id: string;
  at: number;
  type: 'permission_resolved';
  request_id: string;
  tool_use_id: string;
  decision: Decision;
  by: 'you' | 'policy' | 'stop';
  rule: string | null;
  reason: string;
};

export type PlanProposed = {
  run_id: string;
  seq: number;
  agent_id: string;
  at: number;
  type: 'plan_proposed';
  request_id: string;
  nonce: string;
  tool_use_id: string;
  plan: string;
};

export type PlanResolved = {
  run_id: string;
  seq: number;
  agent_id: string;
  at: number;
  type: 'plan_resolved';
  request_id: string;
  tool_use_id: string;
  approved: boolean;
  plan: string;
  reason: string;
};

export type PromptParams = {
  text: string;
  cell_id?: string | null | undefined;
  mode?: PermissionMode | null | undefined;
  model?: string | null | undefined;
  new?: boolean | undefined;
};

/** `queued`: a run is on, the text will be seen at its next step. */
export type PromptResult = {
  run_id: string;
  queued: boolean;
};

/** A message the person sent during the run has reached the model (SPEC L2.10). */
export type PromptTaken = {
  run_id: string;
  seq: number;
  agent_id: string;
  at: number;
  type: 'prompt_taken';
  text: string;
};

export type QuestionAnswered = {
  run_id: string;
  seq: number;
  agent_id: string;
  at: number;
  type: 'question_answered';
  request_id: string;
  tool_use_id: string;
  answers: readonly string[];
};

export type QuestionAsked = {
  run_id: string;
  seq: number;
  agent_id: string;
  at: number;
  type: 'question_asked';
  request_id: string;
  nonce: string;
  tool_use_id: string;
  question: string;
  choices: readonly string[];
  multiple: boolean;
};

/** None: the notebook's own conversation, else the newest. An id may be cut short. */
export type ResumeParams = {
  session_id?: string | null | undefined;
};

/** `session_id` is another one if it goes on as a copy; `text` says so to the person. */
export type ResumeResult = {
  session_id: string;
  text: string;
};

export type RpcErrorObject = {
  code: number;
  message: string;
  data?: JsonValue | undefined;
};

export type RpcNotification = {
  jsonrpc: '2.0';
  method: string;
  params?: { [key: string]: JsonValue } | undefined;
};

export type RpcRequest = {
  jsonrpc: '2.0';
  id: string;
  method: string;
  params?: { [key: string]: JsonValue } | undefined;
};

/** Exactly one of `result` and `error` is meaningful; `error` None means success. */
export type RpcResponse = {
  jsonrpc: '2.0';
  id: string;
  result?: JsonValue | undefined;
  error?: RpcErrorObject | null | undefined;
};

/** A rule that *Always allow* (or *for this session*) would save; shown, editable. */
export type RuleSuggestion = {
  rule: string;
  destination: RuleDestination;
};

/** How a run ended (SPEC L3). */
export type RunEnd =
  | 'completed'
  | 'max_turns'
  | 'blocking_limit'
  | 'budget_spent'
  | 'model_error'
  | 'aborted_streaming'
  | 'aborted_tools'
  | 'prompt_too_long'
  | 'hook_stopped'
  | 'refused';

/**
 * Last event of a run. `text` is the final answer; `detail` what went wrong.
 *
 * `value`: the answer as JSON, where a type was asked for.
 * `usage` and `cost_usd` are this run's with its sub-agents; `session_…` all runs' so far.
 */
export type RunFinished = {
  run_id: string;
  seq: number;
  agent_id: string;
  at: number;
  type: 'run_finished';
  end: RunEnd;
  turns: number;
  text: string;
  value: JsonValue;
  detail: string;
  usage: Usage;
  cost_usd: number | null;
  session_usage: Usage;
  session_cost_usd: number | null;
  duration_ms: number;
};

export type RunIdParams = {
  run_id: string;
};

/** A run as its joined events; `seq` is the last one recorded. Stored in cell outputs too. */
export type RunSnapshot = {
  version: 1;
  run_id: string;
  session_id: string;
  cell_id: string | null;
  events: readonly Event[];
  seq: number;
  end: RunEnd | null;
};

export type RunStarted = {
  run_id: string;
  seq: number;
  agent_id: string;
  at: number;
  type: 'run_started';
  prompt: string;
  model: string;
  mode: PermissionMode;
  origin: 'cell' | 'panel' | 'python' | 'cli' | 'agent';
  cell_id: string | null;
  notebook_path: string | null;
  offline: boolean;
};

/** The notification `session`: another conversation is on; ask for its snapshot. */
export type SessionParams = {
  session_id: string;
};

/** A stored conversation. `title`: its first words; `updated`: ISO 8601, UTC. */
export type SessionSummary = {
  session_id: string;
  title: string;
  updated: string;
};

/** Newest first. `current` is on now; `own` is the one that the notebook names. */
export type SessionsResult = {
  sessions: readonly SessionSummary[];
  current: string;
  own: string | null;
};

export type SetParams = {
  mode?: PermissionMode | null | undefined;
  model?: string | null | undefined;
  effort?: string | null | undefined;
  api_key?: string | null | undefined;
};

export type SetResult = {
  mode: PermissionMode;
  model: ModelStatus;
  effort: string | null;
};

/** One skill as a view lists it. `shadowed_by` is the source that hides it, if any. */
export type SkillInfo = {
  name: string;
  description: string;
  source: string;
  argument_hint: string;
  arguments: readonly string[];
  user_invocable: boolean;
  shadowed_by: string | null;
};

export type SkillStarted = {
  run_id: string;
  seq: number;
  agent_id: string;
  at: number;
  type: 'skill_started';
  name: string;
  args: string;
  by: 'you' | 'model';
  tool_use_id: string | null;
};

export type SkillsListed = {
  run_id: string;
  seq: number;
  agent_id: string;
  at: number;
  type: 'skills_listed';
  skills: readonly SkillInfo[];
};

export type SkillsResult = {
  skills: readonly SkillInfo[];
};

/** All a page shows: the session's runs in order and what is going on now. */
export type Snapshot = {
  session_id: string;
  runs: readonly RunSnapshot[];
  running: string | null;
  pending: readonly PermissionRequested[];
  mode: PermissionMode;
  model: ModelStatus;
  saved: boolean;
};

export type SnapshotParams = {
  run_id?: string | null | undefined;
};

export type StopParams = {
  run_id?: string | null | undefined;
};

export type StopResult = {
  stopped: boolean;
};

export type TextBlock = {
  type: 'text';
  text: string;
};

export type TextDelta = {
  run_id: string;
  seq: number;
  agent_id: string;
  at: number;
  type: 'text_delta';
  message_id: string;
  index: number;
  text: string;
};

export type TextPreview = {
  kind: 'text';
  text: string;
};

/** `seconds` is set on the last delta of a block: how long the model thought. */
export type ThinkingDelta = {
  run_id: string;
  seq: number;
  agent_id: string;
  at: number;
  type: 'thinking_delta';
  message_id: string;
  index: number;
  text: string;
  seconds: number | null;
};

export type TodoItem = {
  content: string;
  status: 'pending' | 'in_progress' | 'completed';
  active_form: string;
};

export type TodoUpdated = {
  run_id: string;
  seq: number;
  agent_id: string;
  at: number;
  type: 'todo_updated';
  todos: readonly TodoItem[];
};

/** Withdraws what was shown of a message; `reason` is shown in its place. */
export type Tombstone = {
  run_id: string;
  seq: number;
  agent_id: string;
  at: number;
  type: 'tombstone';
  message_id: string;
  reason: string;
};

/** `fact` is the one fact of the line ("+6 lines"); `preview` shows what it did. */
export type ToolFinished = {
  run_id: string;
  seq: number;
  agent_id: string;
  at: number;
  type: 'tool_finished';
  tool_use_id: string;
  status: ToolStatus;
  fact: string;
  content: readonly ResultContent[];
  preview: Preview | null;
  duration_ms: number;
};

export type ToolInputDelta = {
  run_id: string;
  seq: number;
  agent_id: string;
  at: number;
  type: 'tool_input_delta';
  tool_use_id: string;
  partial_json: string;
};

/** Something to show while the tool runs: a line of text or outputs of code. */
export type ToolProgress = {
  run_id: string;
  seq: number;
  agent_id: string;
  at: number;
  type: 'tool_progress';
  tool_use_id: string;
  text: string;
  outputs: readonly CellOutput[];
};

/** The call is judged or running. Reads as a line: "Edit cell" + "below [3]". */
export type ToolStarted = {
  run_id: string;
  seq: number;
  agent_id: string;
  at: number;
  type: 'tool_started';
  tool_use_id: string;
  tool: string;
  verb: string;
  subject: string;
  input: { [key: string]: JsonValue };
  read_only: boolean;
};

/** The model began to write a call; its input is still streaming. */
export type ToolUseStarted = {
  run_id: string;
  seq: number;
  agent_id: string;
  at: number;
  type: 'tool_use_started';
  message_id: string;
  index: number;
  tool_use_id: string;
  tool: string;
};

/** Tokens of one model call, or the sum of several. */
export type Usage = {
  input_tokens: number;
  output_tokens: number;
  cache_read_input_tokens: number;
  cache_creation_input_tokens: number;
};

/** Usage of one model call; `cost_usd` is None when the model's price is unknown. */
export type UsageReported = {
  run_id: string;
  seq: number;
  agent_id: string;
  at: number;
  type: 'usage';
  message_id: string;
  model: string;
  usage: Usage;
  cost_usd: number | null;
};

/** The types this reader knows; an event of any other type is skipped. */
export const EVENT_TYPES = [
  'run_started',
  'message_started',
  'text_delta',
  'thinking_delta',
  'tool_use_started',
  'tool_input_delta',
  'tool_started',
  'tool_progress',
  'tool_finished',
  'permission_requested',
  'permission_resolved',
  'question_asked',
  'question_answered',
  'plan_proposed',
  'plan_resolved',
  'todo_updated',
  'skills_listed',
  'skill_started',
  'agent_started',
  'agent_progress',
  'agent_finished',
  'usage',
  'notice',
  'compacted',
  'tombstone',
  'notebook_changed',
  'prompt_taken',
  'run_finished'
] as const;

/** What the kernel answers. */
export type FrontEndMethods = {
  'hello': { params: HelloParams; result: HelloResult };
  'bye': { params: ByeParams; result: OkResult };
  'prompt': { params: PromptParams; result: PromptResult };
  'answer': { params: AnswerParams; result: AnswerResult };
  'stop': { params: StopParams; result: StopResult };
  'set': { params: SetParams; result: SetResult };
  'command': { params: CommandParams; result: CommandResult };
  'skills': { params: Record<string, never>; result: SkillsResult };
  'complete': { params: CompleteParams; result: CompleteResult };
  'sessions': { params: Record<string, never>; result: SessionsResult };
  'resume': { params: ResumeParams; result: ResumeResult };
  'new': { params: Record<string, never>; result: NewResult };
  'snapshot': { params: SnapshotParams; result: Snapshot };
  'ping': { params: Record<string, never>; result: OkResult };
};

/** What the page answers. */
export type KernelMethods = {
  'notebook.read': { params: NotebookReadParams; result: NotebookReadResult };
  'notebook.edit': { params: NotebookEditParams; result: NotebookEditResult };
  'notebook.outputs': { params: NotebookOutputsParams; result: OkResult };
  'notebook.run': { params: NotebookRunParams; result: NotebookRunResult };
  'notebook.reveal': { params: CellIdParams; result: OkResult };
  'notebook.save': { params: Record<string, never>; result: OkResult };
  'notebook.undo': { params: RunIdParams; result: NotebookEditResult };
  'kernel.execute': { params: KernelExecuteParams; result: KernelExecuteResult };
  'ping': { params: Record<string, never>; result: OkResult };
};
