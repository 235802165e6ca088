/** What a view may ask for. The panel's store and the cell widget each implement it. */
import type {
  AnswerParams,
  AnswerResult,
  CommandResult,
  CompleteResult,
  NewResult,
  PermissionMode,
  PromptResult,
  SetParams,
  SetResult,
  StopResult
} from '../protocol/generated';

export interface PromptOptions {
  readonly mode?: PermissionMode | undefined;
  readonly model?: string | undefined;
  /** Begin a new conversation with this prompt. */
  readonly fresh?: boolean | undefined;
}

/**
 * Every promise rejects with an `Error` whose message is fit to be shown. A host that cannot do
 * one of the things rejects; views ask `can` before they show a control for it.
 */
export interface SessionActions {
  prompt(text: string, options?: PromptOptions): Promise<PromptResult>;
  answer(params: AnswerParams): Promise<AnswerResult>;
  /** The run that is on, if none is named. */
  stop(runId?: string): Promise<StopResult>;
  set(params: SetParams): Promise<SetResult>;
  /** A skill or a built-in command. */
  command(name: string, args: string): Promise<CommandResult>;
  complete(text: string, cursor: number): Promise<CompleteResult>;
  newSession(): Promise<NewResult>;
  /** Scroll to a cell of the notebook and make it the active one. */
  revealCell(cellId: string): void;
  /** Load the extension in a kernel that runs without it. */
  turnOn(): Promise<void>;
  /** Bring a pending question into sight. */
  showApproval(requestId: string): void;
  /** Whether this host can do it at all; absent: everything. */
  can?(what: 'prompt' | 'reveal' | 'set' | 'turnOn'): boolean;
}
