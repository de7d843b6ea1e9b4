import type { Machine } from "../process/machine.ts";
import { LIFETIMES } from "./lifetimes.ts";

/** Keys that were revoked through this process, each until no process has it in its cache. */
export class RevokedKeys {
  /** When each key is forgotten, by the monotonic clock; the earliest first. */
  private readonly untilMs = new Map<string, number>();

  constructor(private readonly machine: Machine) {}

  get size(): number {
    return this.untilMs.size;
  }

  has(keyId: string): boolean {
    return this.untilMs.has(keyId);
  }

  add(keyId: string): void {
    const nowMs = this.machine.monotonic();
    this.untilMs.delete(keyId);
    this.untilMs.set(keyId, nowMs + LIFETIMES.revokedKeptMs);
    for (const [oldest, untilMs] of this.untilMs) {
      if (untilMs > nowMs) return;
      this.untilMs.delete(oldest);
    }
  }

  delete(keyId: string): void {
    this.untilMs.delete(keyId);
  }

  /** Returns the keys with the time that each is still kept. */
  left(): { readonly keyId: string; readonly leftMs: number }[] {
    const nowMs = this.machine.monotonic();
    const keys = Array.from(this.untilMs, ([keyId, untilMs]) => ({
      keyId,
      leftMs: untilMs - nowMs,
    }));
    return keys.filter(({ leftMs }) => leftMs > 0);
  }
}
