import type { JSX } from 'react';
import type { PermissionRequested, PermissionResolved } from '../protocol/generated';
import type { SessionActions } from './actions';

export interface ApprovalProps {
  readonly request: PermissionRequested;
  readonly resolution?: PermissionResolved | null | undefined;
  /** Absent: it is shown, but cannot be answered here. */
  readonly actions?: SessionActions | undefined;
}

/** A question to the person: what will happen, exactly and whole. */
export function Approval({ request }: ApprovalProps): JSX.Element {
  return <div className="ak-approval">{request.title}</div>;
}
