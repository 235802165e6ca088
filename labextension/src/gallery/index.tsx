/** The gallery's page: one scene, named by the address (`#turn-done`). Not shipped. */
import { useState } from 'react';
import type { JSX } from 'react';
import { createRoot } from 'react-dom/client';
import type { AnswerParams, Decision, Event } from '../protocol/generated';
import { applyEvent, runFromSnapshot } from '../session/reducer';
import { EMPTY_SESSION } from '../session/state';
import type { SessionState } from '../session/state';
import { Panel, SkillList, Turn } from '../ui';
import type { SessionActions } from '../ui';
import * as scenes from './scenes';
import type { Script } from './script';

interface Gallery {
  /** What was asked of the kernel, in order: `["answer", {…}]`. */
  readonly calls: [string, ...unknown[]][];
  /** What stands in for the kernel's word. */
  tell?: (event: Event) => void;
  fail?: string;
}

declare global {
  interface Window {
    gallery: Gallery;
    hacked?: unknown;
  }
}

const gallery: Gallery = { calls: [] };
window.gallery = gallery;

function said<T>(name: string, result: T, ...details: unknown[]): Promise<T> {
  gallery.calls.push([name, ...details]);
  return gallery.fail === undefined ? Promise.resolve(result) : Promise.reject(new Error(gallery.fail));
}

const model = { model: 'claude-sonnet-4-5', offline: false, endpoint: 'https://api.example.org', key_source: 'environment' };

const actions: SessionActions = {
  prompt: text => said('prompt', { run_id: 'next', queued: false }, text),
  answer: params => said('answer', { status: 'accepted' as const }, params).then(result => {
    resolve(params);
    return result;
  }),
  stop: runId => said('stop', { stopped: true }, runId),
  set: params => said('set', { mode: 'default', model, effort: null }, params),
  command: (name, args) => said('command', { run_id: null, text: name === 'help' ? '/help lists commands' : null }, name, args),
  complete: (text, cursor) => said('complete', { start: text.lastIndexOf('@'), end: cursor, matches: ['@df', '@cell:3'] }, text, cursor),
  newSession: () => said('newSession', { session_id: 'session-2' }),
  revealCell: id => void said('revealCell', null, id),
  turnOn: () => said('turnOn', undefined),
  showApproval: id => void said('showApproval', null, id)
};

/** The kernel's part: an answered question is told as resolved. */
function resolve(params: AnswerParams): void {
  const decision: Decision = params.decision;
  gallery.tell?.({
    type: 'permission_resolved',
    run_id: '',
    seq: 0,
    agent_id: 'main',
    at: 1_764_511_320,
    request_id: params.request_id,
    tool_use_id: params.request_id.replace('ask-', ''),
    decision,
    by: 'you',
    rule: params.rule ?? null,
    reason: params.reason ?? ''
  });
}

function stateOf(scripts: readonly Script[], more: Partial<SessionState> = {}): SessionState {
  const runs = scripts.map(script => runFromSnapshot(script.snapshot()));
  const last = runs[runs.length - 1];
  return {
    ...EMPTY_SESSION,
    connection: 'ready',
    sessionId: 'session-1',
    runs,
    running: last?.end === null ? last.runId : null,
    pending: scripts.flatMap(script => script.pending),
    model,
    skills: scenes.SKILLS,
    ...more
  };
}

/** A session to which events can be told, as the store does. */
function useTold(first: SessionState): SessionState {
  const [state, setState] = useState(first);
  gallery.tell = event => {
    setState(now => {
      const run = now.runs[now.runs.length - 1];
      const seq = (run?.seq ?? 0) + 1;
      const runId = run?.runId ?? '';
      return applyEvent(now, { seq, first: 0, run_id: runId, event: { ...event, seq, run_id: runId } });
    });
  };
  return state;
}

function Told({ script, live }: { script: Script; live: boolean }): JSX.Element {
  const state = useTold(stateOf([script]));
  const run = state.runs[0];
  return run === undefined ? <></> : <Turn run={run} pending={state.pending} actions={actions} live={live} />;
}

function ToldPanel({ state, name = 'prices.ipynb' }: { state: SessionState; name?: string | null }): JSX.Element {
  const told = useTold(state);
  return (
    <Panel
      state={told}
      actions={actions}
      notebookName={name}
      models={['claude-sonnet-4-5', 'claude-haiku-4-5']}
      suggestions={['Explain the error in [7]', 'Profile df', 'Plot price by day']}
      contextUsed={0.31}
    />
  );
}

const turn = (script: () => Script, live = false) => (): JSX.Element => <Told script={script()} live={live} />;
const panel = (state: () => SessionState, name?: string | null) => (): JSX.Element =>
  name === undefined ? <ToldPanel state={state()} /> : <ToldPanel state={state()} name={name} />;

const SCENES: Readonly<Record<string, () => JSX.Element>> = {
  'turn-done': turn(scenes.doneTurn),
  'turn-reads': turn(scenes.readsTurn),
  'turn-running': turn(scenes.runningTurn, true),
  'turn-streaming': turn(scenes.streamingTurn, true),
  'turn-denied': turn(scenes.deniedTurn),
  'turn-stopped': turn(scenes.stoppedTurn),
  'turn-failed': turn(scenes.failedTurn),
  'turn-agents': turn(scenes.agentTurn),
  'turn-outputs': turn(scenes.outputsTurn),
  'turn-cut-off': turn(scenes.runningTurn),
  'ask-python': turn(scenes.pythonQuestion, true),
  'ask-edit': turn(scenes.editQuestion, true),
  'ask-hostile': turn(scenes.hostileQuestion, true),
  'ask-long': turn(scenes.longQuestion, true),
  'ask-stack': turn(scenes.stackOfQuestions, true),
  'hostile-text': turn(scenes.hostileText, true),
  skills: () => <SkillList skills={scenes.SKILLS} actions={actions} />,
  'panel-empty': panel(() => stateOf([])),
  'panel-no-key': panel(() => stateOf([], { model: { ...model, model: 'offline-script', offline: true } })),
  'panel-off': panel(() => ({ ...EMPTY_SESSION, connection: 'unavailable' })),
  'panel-none': panel(() => EMPTY_SESSION, null),
  'panel-lost': panel(() => stateOf([scenes.runningTurn()], { connection: 'lost' })),
  'panel-talk': panel(() => stateOf([scenes.readsTurn(), scenes.doneTurn()], { saved: false })),
  'panel-running': panel(() => stateOf([scenes.deniedTurn(), scenes.runningTurn()], { queued: ['Then plot it by shop'] })),
  'panel-asks': panel(() => stateOf([scenes.editQuestion()], { mode: 'bypassPermissions' }))
};

function Page(): JSX.Element {
  const name = location.hash.slice(1);
  const scene = SCENES[name];
  return scene === undefined ? (
    <ul>
      {Object.keys(SCENES).map(known => (
        <li key={known}>
          <a href={`#${known}`} onClick={() => setTimeout(() => location.reload())}>
            {known}
          </a>
        </li>
      ))}
    </ul>
  ) : (
    <div className={name.startsWith('panel') ? 'gallery-panel' : 'gallery-cell'}>{scene()}</div>
  );
}

/** Stands for the notebook: single keys in command mode act on cells. */
document.addEventListener('keydown', event => {
  let element = event.target instanceof Element ? event.target : null;
  for (; element !== null; element = element.parentElement) {
    if (element.hasAttribute('data-lm-suppress-shortcuts')) {
      return;
    }
  }
  gallery.calls.push(['notebook-key', event.key]);
}, true);

const root = document.getElementById('root');
if (root !== null) {
  createRoot(root).render(<Page />);
}
