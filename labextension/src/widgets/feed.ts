/** What the kernel's widget tells one run, and what may be asked of it. */
import type { AnyModel } from '@anywidget/types';
import type {
  AnswerParams,
  AnswerResult,
  Event,
  PermissionRequested,
  RunSnapshot
} from '../protocol/generated';
import { applyEvent, runFromSnapshot, withRun } from '../session/reducer';
import { EMPTY_SESSION, runOf } from '../session/state';
import type { SessionState } from '../session/state';
import type { SessionActions } from '../ui';

export interface WidgetModel {
  kind: 'turn' | 'skills';
  run_id: string;
  /** JSON of a `RunSnapshot` or of a `SkillsResult`. */
  initial: string;
}

/** A newer kernel may say more. */
interface OtherMessage {
  readonly type: '';
}

type Message =
  | OtherMessage
  | { readonly type: 'events'; readonly events: readonly Event[] }
  | {
      readonly type: 'snapshot';
      readonly snapshot: RunSnapshot;
      readonly pending: readonly PermissionRequested[];
    };

/** An answer is confirmed by the event that tells it; after this long it did not arrive. */
const ANSWER_MS = 15_000;

export class Feed {
  readonly actions: SessionActions;

  constructor(private readonly model: AnyModel<WidgetModel>) {
    this.runId = model.get('run_id');
    this.state = { ...EMPTY_SESSION, connection: 'ready' };
    const initial = parse(model.get('initial'));
    if (initial !== null) {
      const run = runFromSnapshot(initial);
      this.state = { ...this.state, runs: [run], running: run.end === null ? run.runId : null };
    }
    this.actions = { ...createActions(model), answer: params => this.answer(params) };
    model.on('msg:custom', this.hear);
    this.ask('snapshot', {});
  }

  readonly get = (): SessionState => this.state;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  dispose(): void {
    this.model.off('msg:custom', this.hear);
    this.listeners.clear();
    this.waiting.clear();
  }

  private readonly hear = (message: Message): void => {
    if (message.type === 'events') {
      for (const event of message.events) {
        // Deltas come joined here, under the number of their last part.
        this.state = applyEvent(this.state, {
          seq: event.seq,
          first: 0,
          run_id: event.run_id || this.runId,
          event
        });
        if (event.type === 'permission_resolved') {
          this.settle(event.request_id);
        }
      }
      if (this.state.gaps.length > 0) {
        // One question per gap: the snapshot's answer opens the next.
        this.state = { ...this.state, gaps: [] };
        this.ask('snapshot', {});
      }
    } else if (message.type === 'snapshot') {
      const gaps = [message.snapshot.run_id];
      this.state = { ...withRun({ ...this.state, gaps }, message.snapshot), pending: message.pending };
      const open = new Set(message.pending.map(request => request.request_id));
      for (const requestId of this.waiting.keys()) {
        if (!open.has(requestId)) {
          this.settle(requestId);
        }
      }
    }
    if (runOf(this.state, this.runId)?.end != null) {
      for (const requestId of this.waiting.keys()) {
        this.settle(requestId);
      }
    }
    this.listeners.forEach(listener => listener());
  };

  private answer(params: AnswerParams): Promise<AnswerResult> {
    this.ask('answer', params);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.waiting.delete(params.request_id);
        reject(new Error('the kernel did not confirm it.'));
      }, ANSWER_MS);
      this.waiting.set(params.request_id, () => {
        clearTimeout(timer);
        resolve({ status: 'accepted' });
      });
    });
  }

  private settle(requestId: string): void {
    const resolve = this.waiting.get(requestId);
    this.waiting.delete(requestId);
    resolve?.();
  }

  private ask(method: string, params: object): void {
    this.model.send({ type: 'request', method, params });
  }

  private readonly runId: string;
  private readonly listeners = new Set<() => void>();
  private readonly waiting = new Map<string, () => void>();
  private state: SessionState;
}

function parse(json: string): RunSnapshot | null {
  try {
    return json === '' ? null : (JSON.parse(json) as RunSnapshot);
  } catch {
    return null;
  }
}

const cannot = (): Promise<never> => Promise.reject(new Error('That cannot be done from this output.'));

/** The widget can answer, stop and run a skill; the rest belongs to a panel. */
export function createActions(model: AnyModel<WidgetModel>): SessionActions {
  const ask = (method: string, params: object): void => model.send({ type: 'request', method, params });
  return {
    prompt: cannot,
    answer: params => {
      ask('answer', params);
      return Promise.resolve({ status: 'accepted' });
    },
    stop: runId => {
      ask('stop', runId === undefined ? {} : { run_id: runId });
      return Promise.resolve({ stopped: true });
    },
    set: cannot,
    command: (name, args) => {
      ask('command', { name, args });
      return Promise.resolve({ run_id: null, text: null });
    },
    complete: cannot,
    newSession: cannot,
    revealCell: () => undefined,
    turnOn: cannot,
    showApproval: () => undefined,
    can: () => false
  };
}
