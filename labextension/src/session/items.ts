/** The flow of a turn: thinking, text, calls, questions and notices in the order they came. */
import type { CellOutput, Event } from '../protocol/generated';
import type { AgentItem, ApprovalItem, ToolItem, TurnItem, WithdrawnItem } from './state';

type Items = readonly TurnItem[];

/** Events of a sub-agent go into its own item; those of an unknown one stand in the main flow. */
export function applyToItems(items: Items, event: Event): Items {
  if (event.agent_id !== 'main') {
    const at = findLast(items, item => item.kind === 'agent' && holds(item, event.agent_id));
    const parent = items[at];
    if (parent?.kind === 'agent') {
      const inner =
        parent.childId === event.agent_id
          ? applyHere(parent.items, event)
          : applyToItems(parent.items, event);
      return inner === parent.items ? items : replace(items, at, { ...parent, items: inner });
    }
  }
  return applyHere(items, event);
}

function holds(agent: AgentItem, childId: string): boolean {
  return (
    agent.childId === childId ||
    agent.items.some(item => item.kind === 'agent' && holds(item, childId))
  );
}

function applyHere(items: Items, event: Event): Items {
  switch (event.type) {
    case 'text_delta': {
      const at = findBlock(items, 'text', event.message_id, event.index);
      const item = items[at];
      if (item?.kind === 'text') {
        return event.text === '' ? items : replace(items, at, { ...item, text: item.text + event.text });
      }
      return append(items, event, {
        kind: 'text',
        messageId: event.message_id,
        index: event.index,
        text: event.text
      });
    }
    case 'thinking_delta': {
      const at = findBlock(items, 'thinking', event.message_id, event.index);
      const item = items[at];
      if (item?.kind === 'thinking') {
        return replace(items, at, {
          ...item,
          text: item.text + event.text,
          seconds: event.seconds ?? item.seconds
        });
      }
      return append(items, event, {
        kind: 'thinking',
        messageId: event.message_id,
        index: event.index,
        text: event.text,
        seconds: event.seconds,
        startedAt: event.at
      });
    }
    case 'tool_use_started':
      return findTool(items, event.tool_use_id) >= 0
        ? items
        : append(items, event, {
            ...BLANK_TOOL,
            toolUseId: event.tool_use_id,
            messageId: event.message_id,
            tool: event.tool,
            verb: event.tool,
            startedAt: event.at
          });
    case 'tool_input_delta':
      return updateTool(items, event.tool_use_id, tool =>
        tool.state === 'writing'
          ? { ...tool, partialInput: tool.partialInput + event.partial_json }
          : tool
      );
    case 'tool_started': {
      const begun: Partial<ToolItem> = {
        tool: event.tool,
        verb: event.verb,
        subject: event.subject,
        input: event.input,
        partialInput: '',
        readOnly: event.read_only,
        startedAt: event.at
      };
      if (findTool(items, event.tool_use_id) < 0 && !wasWithdrawn(items, event.tool_use_id)) {
        return append(items, event, {
          ...BLANK_TOOL,
          ...begun,
          toolUseId: event.tool_use_id,
          state: 'running'
        });
      }
      return updateTool(items, event.tool_use_id, tool => ({
        ...tool,
        ...begun,
        state: tool.state === 'writing' ? 'running' : tool.state
      }));
    }
    case 'tool_progress':
      return updateTool(items, event.tool_use_id, tool => ({
        ...tool,
        progress: joinLines(tool.progress, event.text),
        outputs: joinOutputs(tool.outputs, event.outputs)
      }));
    case 'tool_finished':
      return updateTool(items, event.tool_use_id, tool => ({
        ...tool,
        partialInput: '',
        state: event.status,
        fact: event.fact,
        content: event.content,
        preview: event.preview,
        durationMs: event.duration_ms
      }));
    case 'permission_requested': {
      const waiting = updateTool(items, event.tool_use_id, tool =>
        isOpen(tool) ? { ...tool, state: 'waiting' } : tool
      );
      return findApproval(items, event.request_id) >= 0
        ? waiting
        : append(waiting, event, { kind: 'approval', request: event, resolution: null });
    }
    case 'permission_resolved': {
      const going = updateTool(items, event.tool_use_id, tool =>
        tool.state === 'waiting' ? { ...tool, state: 'running' } : tool
      );
      const at = findApproval(going, event.request_id);
      const item = going[at];
      return item?.kind === 'approval' ? replace(going, at, { ...item, resolution: event }) : going;
    }
    case 'skill_started':
      return append(items, event, {
        kind: 'skill',
        name: event.name,
        args: event.args,
        by: event.by
      });
    case 'agent_started':
      return append(items, event, {
        kind: 'agent',
        childId: event.child_id,
        agentType: event.agent_type,
        description: event.description,
        progress: '',
        turns: 0,
        items: [],
        end: null,
        text: ''
      });
    case 'agent_progress':
      return updateAgent(items, event.child_id, agent => ({
        ...agent,
        progress: event.text,
        turns: event.turns
      }));
    case 'agent_finished':
      return updateAgent(items, event.child_id, agent => ({
        ...agent,
        end: event.end,
        text: event.text
      }));
    case 'notice':
      return append(items, event, {
        kind: 'notice',
        level: event.level,
        text: event.text,
        code: event.code,
        until: event.until
      });
    case 'compacted':
      return append(items, event, {
        kind: 'compacted',
        tokensBefore: event.tokens_before,
        tokensAfter: event.tokens_after,
        summary: event.summary
      });
    case 'prompt_taken':
      return append(items, event, { kind: 'prompt', text: event.text });
    case 'tombstone':
      return withdraw(items, event);
    case 'run_finished':
      return items.some(isLeftOpen) ? items.map(close) : items;
    default:
      return items;
  }
}

const BLANK_TOOL = {
  kind: 'tool',
  messageId: null,
  tool: '',
  verb: '',
  subject: '',
  state: 'writing',
  readOnly: false,
  partialInput: '',
  input: {},
  startedAt: 0,
  progress: '',
  outputs: [],
  fact: '',
  content: [],
  preview: null,
  durationMs: 0
} as const satisfies Partial<ToolItem>;

type WithoutKey<T> = T extends unknown ? Omit<T, 'key'> : never;

/** Keys count up along the flow; a tombstone takes the key of the first part it replaces. */
function append(items: Items, event: Event, item: WithoutKey<TurnItem>): Items {
  const last = items[items.length - 1];
  const count = last === undefined ? 0 : Number(last.key.slice(last.key.lastIndexOf(':') + 1)) + 1;
  return [...items, { ...item, key: `${event.agent_id}:${count}` }];
}

function replace(items: Items, at: number, item: TurnItem): Items {
  const next = items.slice();
  next[at] = item;
  return next;
}

/** Deltas nearly always belong to one of the newest items. */
function findLast(items: Items, test: (item: TurnItem) => boolean): number {
  for (let at = items.length - 1; at >= 0; at--) {
    const item = items[at];
    if (item !== undefined && test(item)) {
      return at;
    }
  }
  return -1;
}

function findBlock(
  items: Items,
  kind: 'text' | 'thinking',
  messageId: string,
  index: number
): number {
  return findLast(
    items,
    item => item.kind === kind && item.messageId === messageId && item.index === index
  );
}

function findTool(items: Items, toolUseId: string): number {
  return findLast(items, item => item.kind === 'tool' && item.toolUseId === toolUseId);
}

function findApproval(items: Items, requestId: string): number {
  return findLast(items, item => item.kind === 'approval' && item.request.request_id === requestId);
}

function updateTool(items: Items, toolUseId: string, change: (tool: ToolItem) => ToolItem): Items {
  const at = findTool(items, toolUseId);
  const tool = items[at];
  if (tool?.kind !== 'tool') {
    return items;
  }
  const changed = change(tool);
  return changed === tool ? items : replace(items, at, changed);
}

function updateAgent(items: Items, childId: string, change: (agent: AgentItem) => AgentItem): Items {
  const at = findLast(items, item => item.kind === 'agent' && item.childId === childId);
  const agent = items[at];
  return agent?.kind === 'agent' ? replace(items, at, change(agent)) : items;
}

/** Progress comes in lines, as the kernel's own log joins them. */
function joinLines(before: string, more: string): string {
  const line = more.replace(/\n$/, '');
  return more === '' ? before : before === '' ? line : `${before}\n${line}`;
}

/** Printed text in a row is one output, however it was cut on the way. */
function joinOutputs(before: readonly CellOutput[], more: readonly CellOutput[]): readonly CellOutput[] {
  if (more.length === 0) {
    return before;
  }
  const joined = before.slice();
  for (const output of more) {
    const last = joined[joined.length - 1];
    if (
      output.output_type === 'stream' &&
      last?.output_type === 'stream' &&
      last.name === output.name
    ) {
      joined[joined.length - 1] = { ...last, text: (last.text ?? '') + (output.text ?? '') };
    } else {
      joined.push(output);
    }
  }
  return joined;
}

/** Take a message back: one item with the reason stands where its first part stood. */
function withdraw(items: Items, event: Extract<Event, { type: 'tombstone' }>): Items {
  const calls = new Set<string>();
  const belongs = (item: TurnItem): boolean => {
    switch (item.kind) {
      case 'text':
      case 'thinking':
        return item.messageId === event.message_id;
      case 'tool':
        if (item.messageId === event.message_id) {
          calls.add(item.toolUseId);
          return true;
        }
        return false;
      case 'approval':
        return calls.has(item.request.tool_use_id);
      default:
        return false;
    }
  };
  const parts = items.filter(belongs);
  const shared = { kind: 'withdrawn', messageId: event.message_id, reason: event.reason } as const;
  const first = parts[0];
  if (first === undefined) {
    return append(items, event, { ...shared, parts: [] });
  }
  const withdrawn: WithdrawnItem = { ...shared, parts, key: first.key };
  return items.flatMap(item =>
    item === first ? [withdrawn] : parts.includes(item) ? [] : [item]
  );
}

function wasWithdrawn(items: Items, toolUseId: string): boolean {
  return items.some(
    item =>
      item.kind === 'withdrawn' &&
      item.parts.some(part => part.kind === 'tool' && part.toolUseId === toolUseId)
  );
}

/** Whether a call has no result yet. */
export function isOpen(tool: ToolItem): boolean {
  return tool.state === 'writing' || tool.state === 'waiting' || tool.state === 'running';
}

function isLeftOpen(item: TurnItem): boolean {
  return (
    (item.kind === 'tool' && isOpen(item)) ||
    (item.kind === 'thinking' && item.seconds === null) ||
    (item.kind === 'agent' && item.end === null)
  );
}

/** After the end nothing runs: what was left open was cut off. */
function close(item: TurnItem): TurnItem {
  if (!isLeftOpen(item)) {
    return item;
  }
  switch (item.kind) {
    case 'tool':
      return { ...item, state: 'cancelled', partialInput: '' };
    case 'thinking':
      return { ...item, seconds: 0 };
    case 'agent':
      return { ...item, end: 'aborted_tools', items: item.items.map(close) };
    default:
      return item;
  }
}

/** Questions without an answer in this flow and in its sub-agents. */
export function openApprovals(items: Items): readonly ApprovalItem[] {
  return items.flatMap(item =>
    item.kind === 'approval' && item.resolution === null
      ? [item]
      : item.kind === 'agent'
        ? openApprovals(item.items)
        : []
  );
}
