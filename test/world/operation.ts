import type { Random } from "../support/random.ts";
import type { SimulatedGateway } from "./gateway.ts";
import type { World } from "./world.ts";

const RETRY_MS = 700;
/** How long an operation waits for its result: if its gateway dies, none arrives. */
const UNHEARD_MS = 10_000;
/** Tries of an operator who does not give up. */
export const TRIES_MAX = 40;

interface Operation {
  /** The name of the operation in the trace. */
  readonly name: string;
  /** Runs the operation, and returns how it ended. */
  readonly run: (gateway: SimulatedGateway) => Promise<string>;
  readonly onDone?: (gateway: SimulatedGateway, end: string) => void;
}

/** Runs an operation at a random listening gateway, and again while it fails. */
export function operate(
  world: World,
  random: Random,
  triesLeft: number,
  operation: Operation,
): void {
  const listening = world.gateways.filter((gateway) => gateway.listening);
  const again = () => {
    if (triesLeft <= 1) return;
    world.scheduler.after(RETRY_MS, `${operation.name} again`, () =>
      operate(world, random, triesLeft - 1, operation),
    );
  };
  if (listening.length === 0) return again();
  const gateway = random.pick(listening);
  let isOver = false;
  const over = (end: string, next: () => void) => {
    if (isOver) return;
    isOver = true;
    world.scheduler.trace(`${operation.name} ${end}`);
    next();
  };
  gateway.process.receive(2, operation.name, () => {
    operation.run(gateway).then(
      (end) => over(end, () => operation.onDone?.(gateway, end)),
      () => over("failed", again),
    );
  });
  world.scheduler.after(UNHEARD_MS, `${operation.name} unheard`, () => over("unheard", again));
}
