import { setTimeout as delay } from "node:timers/promises";
import { type GatewayActor, startAgain } from "../actors.ts";
import { EVERYWHERE, type Fault, type Ground, oneOf, type Strike, uncommitted } from "./fault.ts";

/** Most restarts are an operator's; the others are crashes, after which the service manager starts the other build. */
const KILLED = 0.25;
const DOWN_MS_MAX = 1_000;
const WAITING_POSTS = 10;
const WAITING_MS_MAX = 4_000;
const POLL_MS = 100;

/**
 * If the older version runs on the database of the newer one. There are as many ways back as upgrades, so that the next
 * card of a deck can be played sooner or later.
 */
export const UPGRADE_AND_BACK: readonly Fault[] = [
  {
    name: "upgrade a gateway",
    weight: 4,
    modes: EVERYWHERE,
    loses: "gateway",
    aim: (ground) =>
      restart(
        ground,
        (actor) => actor.version === "older",
        () => "newer",
      ),
  },
  {
    name: "roll a gateway back",
    weight: 2,
    modes: EVERYWHERE,
    loses: "gateway",
    aim: (ground) =>
      restart(
        ground,
        (actor) => actor.version === "newer",
        () => "older",
      ),
  },
  {
    // An older gateway then finds charges that it cannot read.
    name: "kill a gateway whose posts wait for postgres, and roll it back",
    weight: 2,
    modes: EVERYWHERE,
    loses: "gateway",
    aim: rollBackWithPosts,
  },
];

/**
 * If it does not. The gateways are upgraded at even times of the run, so that they differ for most of it. An older one
 * that ends after the first upgrade starts with the newer version.
 */
export const UPGRADE_ONLY: readonly Fault[] = [
  {
    name: "restart a gateway, once its turn has come with the newer version",
    weight: 8,
    modes: EVERYWHERE,
    loses: "gateway",
    aim(ground) {
      const { gateways } = ground.stage;
      const isTurn = ({ index }: GatewayActor) =>
        ground.progress() > (index + 1) / (gateways.length + 1);
      const late = gateways.some((actor) => actor.version === "older" && isTurn(actor));
      const isMeant = (actor: GatewayActor) =>
        !late || (actor.version === "older" && isTurn(actor));
      return restart(ground, isMeant, (actor) => (isTurn(actor) ? "newer" : actor.version));
    },
  },
];

function rollBackWithPosts(ground: Ground): Strike | undefined {
  const { gateways, postgres } = ground.stage;
  const actor = oneOf(
    ground,
    gateways.filter(({ version }) => version === "newer"),
  );
  if (!actor || !oneOf(ground, [postgres])) return undefined;
  let posts = 0;
  return {
    victims: [actor, postgres],
    describe: () => `${actor.name} with ${posts} posts`,
    async begin() {
      postgres.signal("SIGSTOP");
      const deadline = performance.now() + WAITING_MS_MAX;
      while (posts < WAITING_POSTS && performance.now() < deadline) {
        await delay(POLL_MS);
        posts = (await uncommitted(actor)) ?? posts;
      }
      await actor.kill();
      actor.run("older");
    },
    lastsMs: 0,
    async heal() {
      postgres.signal("SIGCONT");
      if (!actor.isUp) await startAgain(actor);
    },
  };
}

function restart(
  ground: Ground,
  isMeant: (actor: GatewayActor) => boolean,
  versionOf: (actor: GatewayActor) => "older" | "newer",
): Strike | undefined {
  const actor = oneOf(ground, ground.stage.gateways.filter(isMeant));
  if (!actor) return undefined;
  const isKilled = ground.random.chance(KILLED);
  const version = versionOf(actor);
  return {
    victims: [actor],
    describe: () =>
      `${actor.name} by ${isKilled ? "kill -9" : "SIGTERM"}, to the ${version} version`,
    async begin() {
      await (isKilled ? actor.kill() : actor.stop());
      actor.run(version);
    },
    lastsMs: ground.random.below(DOWN_MS_MAX),
    heal: () => startAgain(actor),
  };
}
