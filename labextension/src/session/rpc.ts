/** JSON-RPC 2.0 both ways over any channel that carries JSON objects: ids, time limits, paging. */
import {
  INTERNAL_ERROR,
  MAX_MESSAGE_BYTES,
  METHOD_NOT_FOUND,
  type FrontEndMethods,
  type JsonValue,
  type KernelMethods,
  type RpcErrorObject
} from '../protocol/generated';

type JsonObject = { [key: string]: JsonValue };

/** An error answer: what the other side said, or what we say to it. */
export class RpcError extends Error {
  constructor(
    readonly code: number,
    message: string,
    readonly data: JsonValue = null
  ) {
    super(message);
    this.name = 'RpcError';
  }
}

/** No answer came in time, or the channel closed before it came. */
export class RpcTimeout extends Error {
  override name = 'RpcTimeout';
}

/** What answers the kernel; a method that is missing answers -32601. */
export type KernelHandlers = {
  [M in keyof KernelMethods]?: (
    params: KernelMethods[M]['params']
  ) => Promise<KernelMethods[M]['result']> | KernelMethods[M]['result'];
};

export interface IRequestOptions {
  /** Milliseconds until the promise rejects with {@link RpcTimeout}. Default 30 s; 0: no limit. */
  timeout?: number;
  /**
   * Milliseconds after which the same request, with the same id, is sent again while no answer came;
   * doubled each time. The kernel acts once per id. Default: never.
   */
  resendAfter?: number;
}

interface IWaiting {
  message: JsonObject;
  resolve: (value: JsonValue) => void;
  reject: (error: Error) => void;
  timers: ReturnType<typeof setTimeout>[];
  resends: boolean;
}

/** Remembered answers to the kernel's last requests, so that one sent again acts once. */
const REMEMBERED = 256;
/** Code units per page: even when every one is escaped (`\u0000`), a page stays under the limit. */
const PAGE_UNITS = Math.floor(MAX_MESSAGE_BYTES / 6) - 1000;
/** A message this short cannot be over the limit, however it is encoded. */
const SURELY_SMALL = MAX_MESSAGE_BYTES / 3;

export class RpcPeer {
  constructor(
    private readonly transmit: (data: JsonObject) => void,
    private readonly handlers: KernelHandlers,
    private readonly onNotification: (method: string, params: JsonObject) => void
  ) {}

  /** Ask the kernel. Rejects with {@link RpcError} or {@link RpcTimeout}. */
  request<M extends keyof FrontEndMethods>(
    method: M,
    params: FrontEndMethods[M]['params'],
    options: IRequestOptions = {}
  ): Promise<FrontEndMethods[M]['result']> {
    if (this.closed) {
      return Promise.reject(new RpcTimeout('The connection to the kernel is closed.'));
    }
    const id = `p${++this.lastId}`;
    const message: JsonObject = { jsonrpc: '2.0', id, method, params: params as JsonObject };
    return new Promise<JsonValue>((resolve, reject) => {
      const timers: IWaiting['timers'] = [];
      const resends = options.resendAfter !== undefined;
      this.waiting.set(id, { message, resolve, reject, timers, resends });
      const limit = options.timeout ?? 30_000;
      if (limit > 0) {
        const expire = () => this.settle(id)?.reject(new RpcTimeout(`${method}: no answer in time`));
        timers.push(setTimeout(expire, limit));
      }
      if (options.resendAfter !== undefined) {
        this.scheduleResend(id, options.resendAfter);
      }
      this.send(message);
    }) as Promise<FrontEndMethods[M]['result']>;
  }

  /** Tell the kernel; nothing comes back. */
  notify(method: keyof FrontEndMethods, params: JsonObject): void {
    if (!this.closed) {
      this.send({ jsonrpc: '2.0', method, params });
    }
  }

  /** Take one comm message's data: an object, several in a batch, or a page of one. */
  receive(data: JsonObject): void {
    if (Array.isArray(data['batch'])) {
      data['batch'].forEach(item => this.receive(item as JsonObject));
    } else if (typeof data['page'] === 'number' && typeof data['message'] === 'string') {
      this.receivePage(data);
    } else if (typeof data['method'] === 'string') {
      const params = (data['params'] ?? {}) as JsonObject;
      if (typeof data['id'] === 'string') {
        void this.answer(data['id'], data['method'], params);
      } else {
        this.onNotification(data['method'], params);
      }
    } else if (typeof data['id'] === 'string') {
      const waiting = this.settle(data['id']);
      const error = data['error'] as RpcErrorObject | null | undefined;
      if (error) {
        waiting?.reject(new RpcError(error.code, error.message, error.data ?? null));
      } else {
        waiting?.resolve(data['result'] ?? null);
      }
    }
  }

  /** Requests that wait reject; nothing is sent any more. Resendable ones are handed back. */
  close(): void {
    this.closed = true;
    for (const id of [...this.waiting.keys()]) {
      this.settle(id)?.reject(new RpcTimeout('The connection to the kernel is closed.'));
    }
  }

  private async answer(id: string, method: string, params: JsonObject): Promise<void> {
    let pending = this.answered.get(id);
    if (!pending) {
      pending = this.handle(id, method, params);
      this.answered.set(id, pending);
      for (const old of this.answered.keys()) {
        if (this.answered.size <= REMEMBERED) {
          break;
        }
        this.answered.delete(old);
      }
    }
    const response = await pending;
    if (!this.closed) {
      this.send(response);
    }
  }

  private async handle(id: string, method: string, params: JsonObject): Promise<JsonObject> {
    const handler = Object.hasOwn(this.handlers, method)
      ? (this.handlers as Record<string, ((params: JsonObject) => unknown) | undefined>)[method]
      : undefined;
    try {
      if (!handler) {
        throw new RpcError(METHOD_NOT_FOUND, `This page has no method ${method}.`);
      }
      return { jsonrpc: '2.0', id, result: (await handler(params)) as JsonValue };
    } catch (error) {
      const { code, message, data } =
        error instanceof RpcError
          ? error
          : new RpcError(INTERNAL_ERROR, error instanceof Error ? error.message : String(error));
      return { jsonrpc: '2.0', id, error: { code, message, data } };
    }
  }

  private scheduleResend(id: string, delay: number): void {
    const waiting = this.waiting.get(id);
    waiting?.timers.push(
      setTimeout(() => {
        this.send(waiting.message);
        this.scheduleResend(id, delay * 2);
      }, delay)
    );
  }

  private settle(id: string): IWaiting | undefined {
    const waiting = this.waiting.get(id);
    this.waiting.delete(id);
    waiting?.timers.forEach(clearTimeout);
    return waiting;
  }

  private send(message: JsonObject): void {
    if (isSmall(message)) {
      this.transmit(message);
      return;
    }
    const text = JSON.stringify(message);
    if (new TextEncoder().encode(text).length <= MAX_MESSAGE_BYTES) {
      this.transmit(message);
      return;
    }
    const parts = cut(text, PAGE_UNITS);
    const name = `m${++this.lastId}`;
    parts.forEach((part, page) => {
      this.transmit({ jsonrpc: '2.0', page, pages: parts.length, message: name, text: part });
    });
  }

  private receivePage(data: JsonObject): void {
    const { page, pages, message, text } = data as {
      page: number;
      pages: number;
      message: string;
      text: string;
    };
    const parts = this.pages.get(message) ?? new Map<number, string>();
    parts.set(page, text);
    this.pages.set(message, parts);
    if (parts.size === pages) {
      this.pages.delete(message);
      const whole = Array.from({ length: pages }, (_, index) => parts.get(index) ?? '').join('');
      this.receive(JSON.parse(whole) as JsonObject);
    }
  }

  private readonly waiting = new Map<string, IWaiting>();
  private readonly answered = new Map<string, Promise<JsonObject>>();
  private readonly pages = new Map<string, Map<number, string>>();
  private lastId = 0;
  private closed = false;
}

/** Most messages are tiny: tell so without making their text. */
function isSmall(value: JsonValue, budget = { left: SURELY_SMALL }): boolean {
  budget.left -= 8;
  if (typeof value === 'string') {
    budget.left -= value.length * 2;
  } else if (value !== null && typeof value === 'object') {
    for (const [key, item] of Object.entries(value)) {
      budget.left -= key.length;
      if (budget.left < 0 || !isSmall(item, budget)) {
        return false;
      }
    }
  }
  return budget.left >= 0;
}

/** Parts of at most `size` code units that split no surrogate pair. */
function cut(text: string, size: number): string[] {
  const parts: string[] = [];
  let start = 0;
  while (start < text.length) {
    let end = Math.min(start + size, text.length);
    const last = text.charCodeAt(end - 1);
    if (end < text.length && last >= 0xd800 && last <= 0xdbff) {
      end -= 1;
    }
    parts.push(text.slice(start, end));
    start = end;
  }
  return parts;
}
