import { Agent, get } from "node:http";
import type { Violation } from "./evidence.ts";

const EVERY_MS = 1_000;
const SILENT_MS_MAX = 15_000;

/** The part of a gateway that the watch needs. */
export interface WatchedGateway {
  readonly name: string;
  /** False while a fault has killed or frozen it. */
  readonly isUp: boolean;
  readonly gateway: { readonly url: string };
}

/**
 * Asks every gateway for `/healthz`, once a second. Silence counts while the process runs and no fault
 * has frozen it, in the ticks of this process: if it is late itself, it learns nothing of the gateway.
 */
export class HealthWatch {
  readonly violations: Violation[] = [];
  longestSilenceMs = 0;
  private readonly silentMs = new Map<WatchedGateway, number>();
  private readonly agent = new Agent({ keepAlive: true });
  private readonly silentMsMax: number;
  private readonly timer: NodeJS.Timeout;
  private tickedAtMs = performance.now();

  constructor(
    gateways: readonly WatchedGateway[],
    everyMs = EVERY_MS,
    silentMsMax = SILENT_MS_MAX,
  ) {
    this.silentMsMax = silentMsMax;
    this.timer = setInterval(() => {
      const now = performance.now();
      const passedMs = Math.min(now - this.tickedAtMs, everyMs);
      this.tickedAtMs = now;
      for (const actor of gateways) this.tick(actor, passedMs);
    }, everyMs);
  }

  stop(): void {
    clearInterval(this.timer);
    this.agent.destroy();
  }

  private tick(actor: WatchedGateway, passedMs: number): void {
    const { silentMsMax } = this;
    const silentMs = actor.isUp ? (this.silentMs.get(actor) ?? 0) + passedMs : 0;
    this.silentMs.set(actor, silentMs);
    if (!actor.isUp) return;
    this.longestSilenceMs = Math.max(this.longestSilenceMs, silentMs);
    if (silentMs > silentMsMax && silentMs - passedMs <= silentMsMax) {
      const what = `${actor.name} is silent for ${Math.round(silentMs / 1_000)} s`;
      this.violations.push({ rule: "a gateway that runs is never silent", what });
    }
    const path = `${actor.gateway.url}/healthz`;
    const asked = get(path, { agent: this.agent, timeout: silentMsMax }, (reply) => {
      reply.resume();
      this.silentMs.set(actor, 0);
    });
    asked.on("timeout", () => asked.destroy());
    asked.on("error", () => {});
  }
}
