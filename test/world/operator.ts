import type { World } from "./world.ts";

const LOOK_MS = 500;
const LOOK_AGAIN_MS = 5_000;
const DELAY_MS_MAX = 3_000;
/** How long the operator waits for a reply: a gateway that died sends none. */
const REPLY_TIMEOUT_MS = 40_000;

/** The operator, who runs `restore` some time after a gateway says that the ledger went back, until it has succeeded. */
export class Operator {
  private isBusy = false;

  constructor(private readonly world: World) {}

  begin(): void {
    this.later(LOOK_MS);
  }

  private later(ms: number): void {
    this.world.scheduler.after(ms, "the operator looks", () => this.look());
  }

  private look(): void {
    const { world } = this;
    const isTold = world.gateways.some((gateway) => gateway.saysLedgerWentBack);
    if (!isTold || this.isBusy) return this.later(LOOK_MS);
    this.isBusy = true;
    world.scheduler.after(world.operatorRandom.below(DELAY_MS_MAX), "restore", () =>
      this.restore(),
    );
  }

  private restore(): void {
    const { world } = this;
    const listening = world.gateways.filter((gateway) => gateway.listening);
    let isOver = false;
    const over = (what: string) => {
      if (isOver) return;
      isOver = true;
      this.isBusy = false;
      world.scheduler.trace(`restore ${what}`);
      // The other gateways need a moment to notice it.
      this.later(what === "restored" ? LOOK_AGAIN_MS : LOOK_MS);
    };
    if (listening.length === 0) return over("has no gateway");
    const gateway = world.operatorRandom.pick(listening);
    gateway.process.receive(2, "restore", () => {
      gateway.holdStore.restoreFromLedger().then(
        ({ kind }) => over(kind),
        (error: unknown) => over(`failed: ${String(error)}`),
      );
    });
    world.scheduler.after(REPLY_TIMEOUT_MS, "restore unheard", () => over("unheard"));
  }
}
