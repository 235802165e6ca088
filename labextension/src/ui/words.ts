/** Words for decisions, modes and ends: the same everywhere. */
import type { Decision, PermissionMode, PermissionResolved, RuleDestination, RunEnd } from '../protocol/generated';
import { clock } from './format';
import { oneLine } from './visible';

export const DECISIONS: Readonly<Record<Decision, string>> = {
  allow_once: 'Allow once',
  allow_session: 'Allow for this session',
  allow_always: 'Always allow',
  deny: 'Deny',
  deny_stop: 'Deny and stop'
};

const DONE: Readonly<Record<Decision, string>> = {
  allow_once: 'Allowed once',
  allow_session: 'Allowed for this session',
  allow_always: 'Always allowed',
  deny: 'Denied',
  deny_stop: 'Denied, and stopped'
};

/** "Allowed once by you, 14:02". */
export function resolvedWords(resolution: PermissionResolved): string {
  const time = clock(resolution.at);
  const at = time === '' ? '' : `, ${time}`;
  if (resolution.by === 'stop') {
    return `Not answered: the turn was stopped${at}`;
  }
  const rule = resolution.rule && resolution.decision !== 'allow_once' ? ` · rule ${resolution.rule}` : '';
  const reason = resolution.reason ? `: ${oneLine(resolution.reason)}` : '';
  return `${DONE[resolution.decision]} by ${resolution.by === 'you' ? 'you' : 'policy'}${at}${rule}${reason}`;
}

export const DESTINATIONS: Readonly<Record<RuleDestination, string>> = {
  local: 'this project, for you only',
  project: 'this project, for everyone',
  user: 'all your projects',
  session: 'this session only'
};

export const MODES: readonly { mode: PermissionMode; name: string; says: string }[] = [
  { mode: 'default', name: 'Ask first', says: 'Reads freely; asks before it changes or runs anything.' },
  { mode: 'acceptEdits', name: 'Accept edits', says: 'Edits cells and files without asking; asks before it runs code.' },
  { mode: 'plan', name: 'Plan', says: 'Only reads, until you approve its plan.' },
  { mode: 'dontAsk', name: 'Never ask', says: 'Does what your rules allow; everything else is denied.' },
  { mode: 'bypassPermissions', name: 'Allow all', says: 'Asks nothing. Only where nothing can be lost.' }
];

export interface EndWords {
  readonly tone: 'stopped' | 'failed' | 'limit';
  readonly title: string;
  /** What was kept and what to do. */
  readonly advice: string;
  /** What the one button does: send the prompt again, or go on. */
  readonly again?: 'Retry' | 'Continue';
}

/** Null: it ended as it should, and needs no words. */
export function endWords(end: RunEnd): EndWords | null {
  switch (end) {
    case 'completed':
      return null;
    case 'aborted_streaming':
    case 'aborted_tools':
      return { tone: 'stopped', title: 'Stopped by you', advice: 'What was done until then is kept.', again: 'Continue' };
    case 'max_turns':
      return { tone: 'limit', title: 'Stopped at the limit of turns', advice: 'What was done is kept.', again: 'Continue' };
    case 'budget_spent':
      return { tone: 'limit', title: 'The budget is spent', advice: 'What was done is kept.' };
    case 'blocking_limit':
      return {
        tone: 'failed',
        title: 'The conversation is too long for another request',
        advice: 'What was done is kept. Start a new conversation.'
      };
    case 'prompt_too_long':
      return {
        tone: 'failed',
        title: 'The prompt is too long for the model',
        advice: 'What was done is kept. Start a new conversation.'
      };
    case 'model_error':
      return { tone: 'failed', title: 'The model could not answer', advice: 'What was done until then is kept.', again: 'Retry' };
    case 'hook_stopped':
      return { tone: 'limit', title: 'Stopped by a hook', advice: 'What was done is kept.' };
    case 'refused':
      return { tone: 'failed', title: 'The model declined to answer', advice: 'Its unfinished answer was withdrawn.' };
    default:
      return { tone: 'failed', title: 'Ended', advice: '' };
  }
}
