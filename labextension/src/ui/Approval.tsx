/**
 * A question to the person. It says in a verb what will happen and shows the exact thing, whole.
 * Focus never moves here by itself; the buttons come before the text in the tab order.
 */
import { useCallback, useEffect, useId, useRef, useState } from 'react';
import type { JSX, KeyboardEvent } from 'react';
import type { AnswerParams, Decision, PermissionRequested, PermissionResolved } from '../protocol/generated';
import type { SessionActions } from './actions';
import { AlwaysAllow, DenyMenu } from './ApprovalMenus';
import { Icon } from './icons';
import { useRequest } from './parts';
import { PreviewView } from './PreviewView';
import { VisibleText, oneLine, spoken } from './visible';
import { DECISIONS, resolvedWords } from './words';

export interface ApprovalProps {
  readonly request: PermissionRequested;
  readonly resolution?: PermissionResolved | null | undefined;
  /** Absent: it is shown, but cannot be answered here. */
  readonly actions?: SessionActions | undefined;
}

/** Where a question was answered with the focus inside: the line that follows takes it over. */
const answeredIn = new Map<string, Element | null>();

export function Approval({ request, resolution, actions }: ApprovalProps): JSX.Element {
  return resolution ? (
    <Resolved request={request} resolution={resolution} />
  ) : (
    <OpenApproval key={request.request_id} request={request} actions={actions} />
  );
}

interface ResolvedProps {
  readonly request: PermissionRequested;
  readonly resolution: PermissionResolved;
}

function Resolved({ request, resolution }: ResolvedProps): JSX.Element {
  const line = useRef<HTMLDivElement>(null);
  const id = request.request_id;
  useEffect(() => {
    const host = line.current?.closest('.ak-turn') ?? null;
    if (!answeredIn.has(id) || answeredIn.get(id) !== host) {
      return;
    }
    answeredIn.delete(id);
    // Else the next key would go to the notebook's cells.
    if (document.activeElement === null || document.activeElement === document.body) {
      line.current?.focus({ preventScroll: true });
    }
  }, [id]);
  return (
    <div
      ref={line}
      className="ak-root ak-resolved"
      tabIndex={-1}
      data-lm-suppress-shortcuts
      title={spoken(request.title)}
    >
      <VisibleText text={resolvedWords(resolution)} />
    </div>
  );
}

/** A click meant for something else that stood here a moment ago must not decide. */
const SETTLE_MS = 300;

type Menu = 'none' | 'always' | 'deny' | 'reason';

interface OpenProps {
  readonly request: PermissionRequested;
  readonly actions: SessionActions | undefined;
}

function OpenApproval({ request, actions }: OpenProps): JSX.Element {
  const id = useId();
  const card = useRef<HTMLDivElement>(null);
  const [menu, setMenu] = useState<Menu>('none');
  const [settled, setSettled] = useState(false);
  const [sent, setSent] = useState(false);
  const [expired, setExpired] = useState(false);
  const { problem, run } = useRequest();

  useEffect(() => {
    const timer = setTimeout(() => setSettled(true), SETTLE_MS);
    return () => clearTimeout(timer);
  }, []);

  const answer = useCallback(
    (decision: Decision, more: Partial<AnswerParams> = {}) => {
      if (actions === undefined || sent) {
        return;
      }
      setSent(true);
      const { request_id, nonce } = request;
      if (card.current?.contains(document.activeElement)) {
        answeredIn.set(request_id, card.current.closest('.ak-turn'));
      }
      void run(async () => {
        const result = await actions.answer({ request_id, nonce, decision, ...more });
        setExpired(result.status === 'expired');
      }).then(done => {
        if (!done) {
          setSent(false);
        }
      });
    },
    [actions, request, run, sent]
  );

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Escape') {
      event.stopPropagation();
      event.preventDefault();
      if (menu === 'none') {
        answer('deny');
      } else {
        setMenu('none');
        card.current?.querySelector<HTMLElement>('[aria-expanded="true"]')?.focus();
      }
    } else if ((event.key === 'Enter' || event.key === ' ') && event.repeat) {
      // A key that is still held down from what the person did before answers nothing.
      event.preventDefault();
    } else if (event.key === 'PageDown' || event.key === 'PageUp') {
      scrollExact(card.current, event.key === 'PageDown' ? 1 : -1);
      event.preventDefault();
    }
  };

  const forSession = request.suggestions.find(known => known.destination === 'session');
  const off = !settled || actions === undefined;
  return (
    <div
      ref={card}
      className="ak-root ak-approval"
      role="alertdialog"
      aria-modal="false"
      aria-labelledby={`${id}title`}
      aria-describedby={`${id}facts`}
      data-lm-suppress-shortcuts
      data-request-id={request.request_id}
      onKeyDown={onKeyDown}
    >
      <div className="ak-approval-head">
        <h3 className="ak-approval-title" id={`${id}title`}>
          <VisibleText text={oneLine(request.title)} strict />
        </h3>
        <Facts id={`${id}facts`} request={request} />
      </div>
      {expired ? (
        <p className="ak-note" role="status">
          This question is no longer open.
        </p>
      ) : (
        <div className="ak-approval-foot">
          {actions === undefined ? (
            <p className="ak-note">It cannot be answered here.</p>
          ) : (
            <div className="ak-buttons" aria-busy={sent} data-sent={sent}>
              <button type="button" className="ak-button" disabled={off} onClick={() => answer('allow_once')}>
                {DECISIONS.allow_once}
              </button>
              <button
                type="button"
                className="ak-button ak-primary"
                disabled={off}
                title={forSession ? `Rule: ${spoken(forSession.rule)}` : undefined}
                onClick={() =>
                  answer('allow_session', forSession ? { rule: forSession.rule, destination: 'session' } : {})
                }
              >
                {DECISIONS.allow_session}
              </button>
              <button
                type="button"
                className="ak-button ak-with-menu"
                disabled={off}
                aria-expanded={menu === 'always'}
                onClick={() => setMenu(menu === 'always' ? 'none' : 'always')}
              >
                {DECISIONS.allow_always}
                <Icon name="down" />
              </button>
              <span className="ak-split">
                <button type="button" className="ak-button" disabled={off} onClick={() => answer('deny')}>
                  {DECISIONS.deny}
                </button>
                <button
                  type="button"
                  className="ak-button ak-split-more"
                  disabled={off}
                  aria-label="More ways to deny"
                  aria-expanded={menu === 'deny' || menu === 'reason'}
                  onClick={() => setMenu(menu === 'deny' || menu === 'reason' ? 'none' : 'deny')}
                >
                  <Icon name="down" />
                </button>
              </span>
            </div>
          )}
          {menu === 'always' ? <AlwaysAllow request={request} disabled={off} answer={answer} /> : null}
          {menu === 'deny' || menu === 'reason' ? (
            <DenyMenu
              askReason={menu === 'reason'}
              disabled={off}
              onAskReason={() => setMenu('reason')}
              answer={answer}
            />
          ) : null}
          {sent ? <p className="ak-note">Sent.</p> : null}
          {problem ? (
            <p className="ak-problem" role="alert">
              Your answer did not arrive: {problem}
            </p>
          ) : null}
        </div>
      )}
      <div className="ak-approval-what">
        <PreviewView preview={request.preview} />
      </div>
    </div>
  );
}

/** Where it acts and why it asks. */
function Facts({ id, request }: { id: string; request: PermissionRequested }): JSX.Element {
  const facts = [
    { name: 'Where', text: request.where },
    { name: 'Why it asks', text: request.reason },
    { name: 'Asked by', text: request.agent_id === 'main' ? '' : `sub-agent ${request.agent_id}` }
  ].filter(fact => fact.text !== '');
  return (
    <div className="ak-facts" id={id}>
      {facts.map(fact => (
        <div key={fact.name}>
          <span>{fact.name}:</span>{' '}
          <span className="ak-fact-text">
            <FactText text={oneLine(fact.text)} />
          </span>
        </div>
      ))}
    </div>
  );
}

/** Names in back quotes are code. */
function FactText({ text }: { text: string }): JSX.Element {
  return (
    <>
      {text.split(/`([^`]+)`/).map((part, at) =>
        at % 2 === 1 ? (
          <code key={at}>
            <VisibleText text={part} strict />
          </code>
        ) : (
          <VisibleText key={at} text={part} strict />
        )
      )}
    </>
  );
}

/** Page keys scroll the text while a button has the focus. */
function scrollExact(card: HTMLElement | null, direction: 1 | -1): void {
  const box = card?.querySelector('.ak-exact, .ak-diff-lines');
  box?.scrollBy({ top: direction * box.clientHeight * 0.9 });
}

export interface ApprovalStackProps {
  readonly requests: readonly PermissionRequested[];
  readonly actions?: SessionActions | undefined;
}

/** Several questions at once, oldest first; reading may be allowed in one go. */
export function ApprovalStack({ requests, actions }: ApprovalStackProps): JSX.Element {
  const reads = requests.filter(request => request.read_only);
  const { busy, problem, run } = useRequest();
  return (
    <div className="ak-root ak-approvals" role="group" aria-label={`${requests.length} questions`}>
      {actions !== undefined && reads.length > 1 ? (
        <div className="ak-approvals-bar" data-lm-suppress-shortcuts>
          <span>{requests.length} questions, oldest first</span>
          <button
            type="button"
            className="ak-button"
            disabled={busy}
            onClick={() =>
              void run(() =>
                Promise.all(
                  reads.map(({ request_id, nonce }) =>
                    actions.answer({ request_id, nonce, decision: 'allow_once' })
                  )
                )
              )
            }
          >
            Allow all reads ({reads.length})
          </button>
          {problem ? <span role="alert">{problem}</span> : null}
        </div>
      ) : null}
      {requests.map(request => (
        <Approval key={request.request_id} request={request} actions={actions} />
      ))}
    </div>
  );
}
