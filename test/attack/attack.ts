import { type Customer, createCustomer } from "../support/admin.ts";
import type { TestGateway } from "../support/gateway.ts";
import { RawClient } from "../support/raw-client.ts";

/** The gateway cuts a connection that is silent for 10 s. */
export const SILENT_MS = 15_000;
/** Wallets of an attacker. */
export const FEW_VND = 10;
export const MANY_VND = 10_000_000;

/** Harm that a stranger or a customer without money can try. */
export interface Attack {
  readonly name: string;
  /** Says in a few words what is sent. */
  readonly what: string;
  /** Goes on until `target.signal` is aborted. */
  run(target: Target): Promise<void>;
}

/** The gateway under attack, and what it replied. */
export class Target {
  readonly replies = new Map<string, number>();

  constructor(
    readonly gateway: TestGateway,
    readonly signal: AbortSignal,
  ) {}

  customer(creditVnd = 0): Promise<Customer> {
    return createCustomer(this.gateway, creditVnd > 0 ? { creditVnd } : {});
  }

  /** Runs `count` loops of `step` at the same time. */
  async lanes(count: number, step: (lane: number) => Promise<void>): Promise<void> {
    const loop = async (lane: number) => {
      while (!this.signal.aborted) {
        // A gateway that is under attack may refuse connections: the attacker tries again.
        await step(lane).catch(() => this.pause(100));
      }
    };
    await Promise.all(Array.from({ length: count }, (_, lane) => loop(lane)));
  }

  /**
   * Sends bytes on a connection of their own, piece by piece, until the gateway replies or closes it. After the last
   * piece, waits `patienceMs` for that.
   */
  async send(pieces: Iterable<string | Uint8Array>, patienceMs: number): Promise<void> {
    const client = await RawClient.open(this.gateway.port);
    try {
      const replied = client.sees("HTTP/1.1 ").catch(() => undefined);
      for (const piece of pieces) {
        if (client.pending.length > 0 || this.signal.aborted) break;
        // A gateway that has replied may read no more.
        if (!(await Promise.race([client.send(piece), replied]))) break;
      }
      await Promise.race([replied, this.pause(patienceMs)]);
      const status = /^HTTP\/1\.1 (\d{3})/.exec(client.pending.toString("latin1"))?.[1];
      if (status !== undefined || client.ended) this.count(status ?? "cut");
      else if (!this.signal.aborted) this.count("no reply");
    } finally {
      client.destroy();
    }
  }

  /** Sends a whole request, and counts its status. */
  post(
    path: string,
    key: string,
    body: Uint8Array,
    type = "application/json",
    more: Readonly<Record<string, string>> = {},
  ): Promise<void> {
    const headers = { "x-api-key": key, "content-type": type, ...more };
    return this.send(
      [headOf("POST", path, { ...headers, "content-length": body.length }), body],
      30_000,
    );
  }

  count(reply: string): void {
    this.replies.set(reply, (this.replies.get(reply) ?? 0) + 1);
  }

  /** Resolves after a time, or at the end of the attack. */
  pause(ms: number): Promise<void> {
    if (this.signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.signal.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.signal.addEventListener("abort", done);
    });
  }
}

export function headOf(
  method: string,
  path: string,
  headers: Readonly<Record<string, string | number>>,
): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\nhost: gateway\r\n${lines.join("")}\r\n`;
}
