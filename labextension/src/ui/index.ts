/** The components that panel and cells share. They know neither JupyterLab nor a comm. */
export type { SessionActions, PromptOptions } from './actions';
export { Turn } from './Turn';
export type { TurnProps } from './Turn';
export { Panel } from './Panel';
export type { PanelProps } from './Panel';
export { SkillList } from './SkillList';
export type { SkillListProps } from './SkillList';
export { Approval } from './Approval';
export type { ApprovalProps } from './Approval';
