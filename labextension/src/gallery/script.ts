/** Event lists in the wire's form, written briefly: for the gallery and the reducer's tests. */
import type { Event, PermissionRequested, RunSnapshot, SkillInfo } from '../protocol/generated';

type Stamp = 'type' | 'run_id' | 'seq' | 'agent_id' | 'at';
type Fields<T extends Event['type']> = Omit<Extract<Event, { type: T }>, Stamp>;

const START = 1_764_511_320;

export class Script {
  readonly events: Event[] = [];
  private seq = 0;
  private message = '';
  private index = 0;

  constructor(
    readonly runId: string,
    readonly cellId: string | null = 'cell-1',
    private readonly start = START
  ) {}

  add<T extends Event['type']>(type: T, fields: Fields<T>, agentId = 'main'): this {
    this.seq += 1;
    this.events.push({
      ...fields,
      type,
      run_id: this.runId,
      seq: this.seq,
      agent_id: agentId,
      at: this.start + this.seq * 0.4
    } as unknown as Event);
    return this;
  }

  begin(prompt: string, more: Partial<Fields<'run_started'>> = {}): this {
    return this.add('run_started', {
      prompt,
      model: 'claude-sonnet-4-5',
      mode: 'default',
      origin: 'cell',
      cell_id: this.cellId,
      notebook_path: 'prices.ipynb',
      offline: false,
      ...more
    });
  }

  reply(turn = 1, model = 'claude-sonnet-4-5'): this {
    this.message = `${this.runId}-message-${turn}`;
    this.index = 0;
    return this.add('message_started', { message_id: this.message, model, turn });
  }

  think(text: string, seconds: number | null): this {
    return this.add('thinking_delta', {
      message_id: this.message,
      index: this.index++,
      text,
      seconds
    });
  }

  /** In parts, as it streams. */
  say(...parts: string[]): this {
    const index = this.index++;
    for (const text of parts) {
      this.add('text_delta', { message_id: this.message, index, text });
    }
    return this;
  }

  call(id: string, tool: string, fields: Partial<Fields<'tool_started'>> & { verb: string }): this {
    const input = fields.input ?? {};
    this.add('tool_use_started', {
      message_id: this.message,
      index: this.index++,
      tool_use_id: id,
      tool
    });
    const json = JSON.stringify(input);
    this.add('tool_input_delta', { tool_use_id: id, partial_json: json.slice(0, 9) });
    this.add('tool_input_delta', { tool_use_id: id, partial_json: json.slice(9) });
    return this.add('tool_started', {
      tool_use_id: id,
      tool,
      subject: '',
      read_only: false,
      ...fields,
      input
    });
  }

  done(id: string, fields: Partial<Fields<'tool_finished'>> & { text?: string } = {}): this {
    const { text, ...more } = fields;
    return this.add('tool_finished', {
      tool_use_id: id,
      status: 'ok',
      fact: '',
      content: text === undefined ? [] : [{ type: 'text', text }],
      preview: null,
      duration_ms: 120,
      ...more
    });
  }

  ask(
    id: string,
    tool: string,
    fields: Partial<Fields<'permission_requested'>> & {
      title: string;
      preview: PermissionRequested['preview'];
    }
  ): this {
    return this.add('permission_requested', {
      request_id: `ask-${id}`,
      nonce: `nonce-${id}`,
      tool_use_id: id,
      tool,
      where: '',
      reason: '',
      input: {},
      read_only: false,
      suggestions: [],
      ...fields
    });
  }

  answer(id: string, decision: Fields<'permission_resolved'>['decision'], more: Partial<Fields<'permission_resolved'>> = {}): this {
    return this.add('permission_resolved', {
      request_id: `ask-${id}`,
      tool_use_id: id,
      decision,
      by: 'you',
      rule: null,
      reason: '',
      ...more
    });
  }

  note(text: string, level: 'info' | 'warning' | 'error' = 'info', until: number | null = null): this {
    return this.add('notice', { level, text, code: '', until });
  }

  end(end: Fields<'run_finished'>['end'] = 'completed', more: Partial<Fields<'run_finished'>> = {}): this {
    return this.add('run_finished', {
      end,
      turns: 3,
      text: '',
      value: null,
      detail: '',
      usage: {
        input_tokens: 1200,
        output_tokens: 410,
        cache_read_input_tokens: 6900,
        cache_creation_input_tokens: 0
      },
      cost_usd: 0.0213,
      session_usage: {
        input_tokens: 5400,
        output_tokens: 1830,
        cache_read_input_tokens: 31_000,
        cache_creation_input_tokens: 0
      },
      session_cost_usd: 0.0871,
      duration_ms: 14_200,
      ...more
    });
  }

  get pending(): PermissionRequested[] {
    const answered = new Set(
      this.events.flatMap(event => (event.type === 'permission_resolved' ? [event.request_id] : []))
    );
    return this.events.flatMap(event =>
      event.type === 'permission_requested' && !answered.has(event.request_id) ? [event] : []
    );
  }

  snapshot(): RunSnapshot {
    const last = this.events[this.events.length - 1];
    return {
      version: 1,
      run_id: this.runId,
      session_id: 'session-1',
      cell_id: this.cellId,
      events: this.events,
      seq: this.seq,
      end: last?.type === 'run_finished' ? last.end : null
    };
  }
}

export function skill(name: string, description: string, more: Partial<SkillInfo> = {}): SkillInfo {
  return {
    name,
    description,
    source: 'project',
    argument_hint: '',
    arguments: [],
    user_invocable: true,
    shadowed_by: null,
    ...more
  };
}
