import { setTimeout as delay } from "node:timers/promises";
import { formatVnd } from "../../core/catalogue/amount.ts";
import { admin } from "../support/admin.ts";
import type { TestGateway } from "../support/gateway.ts";
import { Random } from "../support/random.ts";

const RETRY_MS = 500;
/** Maximum movements in flight, so that retries do not make an outage worse. */
const OPEN_MAX = 8;
const PAUSE_MS = 150;
const ANSWER_TIMEOUT_MS = 15_000;
const SEED_STEP = 104_729;
const VND = 1_000_000;

/** A credit or debit under a reference, sent until it gets a reply. */
export interface Movement {
  readonly reference: string;
  readonly accountId: string;
  readonly amountMicroVnd: bigint;
  /** Undefined until the outcome is known. */
  answer: "credited" | "below_zero" | undefined;
  attempts: number;
}

export interface MovementsOptions {
  readonly seed: number;
  /** Accounts whose wallets stay nearly empty; they get small credits. */
  readonly poor: readonly string[];
  readonly rich: readonly string[];
  readonly gateways: readonly TestGateway[];
}

/** Sends credits and a few debits, some of them to two gateways at once. */
export class Movements {
  readonly all: Movement[] = [];
  private readonly running: Promise<void>;
  private readonly open = new Set<Promise<void>>();
  private stopping = false;
  private resumed: Promise<void> = Promise.resolve();

  constructor(private readonly options: MovementsOptions) {
    this.running = this.run();
  }

  /** Resolves once every movement has a reply. */
  async stop(): Promise<void> {
    this.stopping = true;
    await this.running;
  }

  /** From now on, no new ones are sent until the returned function is called. */
  pause(): () => void {
    let resume = () => {};
    this.resumed = new Promise((resolve) => {
      resume = resolve;
    });
    return resume;
  }

  /** True if no movement waits for a reply. */
  get isIdle(): boolean {
    return this.open.size === 0;
  }

  private async run(): Promise<void> {
    const { open } = this;
    const begin = (work: Promise<void>) => {
      open.add(work);
      void work.finally(() => open.delete(work));
    };
    for (let number = 1; !this.stopping; number += 1) {
      await this.resumed;
      const random = new Random(this.options.seed + number * SEED_STEP);
      const isRich = random.chance(0.2);
      const takes = random.chance(0.15);
      const amount = (1 + random.below(isRich ? 10_000 : 8)) * VND + random.below(VND);
      const movement: Movement = {
        reference: `chaos-${number}`,
        accountId: random.pick(isRich ? this.options.rich : this.options.poor),
        amountMicroVnd: BigInt(takes ? -amount : amount),
        answer: undefined,
        attempts: 0,
      };
      this.all.push(movement);
      begin(this.send(movement, random));
      if (random.chance(0.3)) begin(this.send(movement, random));
      await delay(PAUSE_MS);
      if (open.size >= OPEN_MAX) await Promise.race(open);
    }
    await Promise.all(open);
  }

  private async send(movement: Movement, random: Random): Promise<void> {
    const { accountId, amountMicroVnd, reference } = movement;
    const body = { amount_vnd: formatVnd(amountMicroVnd), reference, reason: "chaos" };
    while (movement.answer === undefined) {
      movement.attempts += 1;
      const gateway = random.pick(this.options.gateways);
      const status = await Promise.race([
        admin(gateway, "POST", `/accounts/${accountId}/credits`, body).then(
          (answer) => answer.status,
          () => 0,
        ),
        delay(ANSWER_TIMEOUT_MS, 0, { ref: false }),
      ]);
      if (status >= 200 && status < 300) movement.answer = "credited";
      else if (status === 409) movement.answer ??= "below_zero";
      else await delay(RETRY_MS);
    }
  }
}
