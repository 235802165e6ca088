/** What a person does in a view, sent to the kernel of the view's notebook. */
import type { AnswerParams, AnswerResult, PromptResult, SetResult } from '../protocol/generated';
import type { PromptOptions, SessionActions } from '../ui';
import type { SessionClient } from './client';
import { fromSnapshot, withQueued, withSettings } from './reducer';
import { RpcTimeout } from './rpc';
import type { SessionStore } from './store';

/** What only the host can do. */
export interface IHostActions {
  /** Null while no kernel is connected. */
  client: () => SessionClient | null;
  revealCell: (cellId: string) => void;
  showApproval: (requestId: string) => void;
  turnOn: () => Promise<void>;
}

/** An answer is sent again after this long: a message to a subshell that is gone is lost silently. */
const RESEND = 2000;
const ANSWER_LIMIT = 30_000;
/** The first prompt may have to wait for imports in the kernel. */
const PROMPT_LIMIT = 60_000;

export function createActions(store: SessionStore, host: IHostActions): SessionActions {
  const client = (): SessionClient => {
    const found = host.client();
    if (!found) {
      throw new Error('No kernel is connected.');
    }
    return found;
  };
  return {
    prompt: async (text: string, options: PromptOptions = {}): Promise<PromptResult> => {
      const { mode, model, fresh } = options;
      const params = { text, mode: mode ?? null, model: model ?? null, new: fresh ?? false };
      const result = await client().request('prompt', params, { timeout: PROMPT_LIMIT });
      if (result.queued) {
        store.update(state => withQueued(state, text));
      }
      return result;
    },
    answer: params => answer(store, client, params),
    stop: async runId => client().request('stop', { run_id: runId ?? null }, { resendAfter: RESEND }),
    set: async (params): Promise<SetResult> => {
      const result = await client().request('set', params);
      store.update(state => withSettings(state, result));
      return result;
    },
    command: async (name, args) =>
      client().request('command', { name, args }, { timeout: PROMPT_LIMIT }),
    complete: async (text, cursor) =>
      client().request('complete', { text, cursor }, { timeout: 5000 }),
    newSession: async () => {
      const result = await client().request('new', {}, { timeout: PROMPT_LIMIT });
      const snapshot = await client().request('snapshot', {});
      store.update(state => fromSnapshot(snapshot, state));
      return result;
    },
    revealCell: host.revealCell,
    turnOn: host.turnOn,
    showApproval: host.showApproval
  };
}

/**
 * Sent until it is acknowledged, over a new connection too; the kernel counts it once. The question
 * leaves `pending` when the kernel says that it was answered, here or elsewhere.
 */
async function answer(
  store: SessionStore,
  client: () => SessionClient,
  params: AnswerParams
): Promise<AnswerResult> {
  const until = performance.now() + ANSWER_LIMIT;
  for (;;) {
    try {
      const left = Math.max(1, until - performance.now());
      const result = await client().request('answer', params, {
        timeout: left,
        resendAfter: RESEND
      });
      if (result.status === 'expired') {
        // An accepted one goes with the event that tells how it was decided.
        store.update(state => ({
          ...state,
          pending: state.pending.filter(request => request.request_id !== params.request_id)
        }));
      }
      return result;
    } catch (error) {
      if (!(error instanceof RpcTimeout)) {
        throw error;
      }
      if (performance.now() >= until) {
        throw new Error('The kernel did not take the answer. Try again.', { cause: error });
      }
      await new Promise(resolve => setTimeout(resolve, 500));
      if (!store.state.pending.some(request => request.request_id === params.request_id)) {
        return { status: 'expired' };
      }
    }
  }
}
