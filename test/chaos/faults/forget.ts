import { startAgain } from "../actors.ts";
import { EVERYWHERE, type Fault, oneOf } from "./fault.ts";

/** One Redis, or one primary of a cluster, is empty. */
const WIPE: Fault = {
  name: "wipe redis",
  weight: 1,
  modes: EVERYWHERE,
  loses: "redis",
  async aim(ground) {
    const node = oneOf(ground, await ground.stage.redis.primaries());
    if (!node) return undefined;
    return {
      victims: [node],
      describe: () => node.name,
      begin: async () => void (await node.server.call("FLUSHALL")),
      lastsMs: 0,
      heal: async () => {},
    };
  },
};

const RESTORE: Fault = {
  name: "restore an old redis",
  weight: 1,
  modes: ["single"],
  loses: "redis",
  aim(ground) {
    const { redis, snapshots } = ground.stage;
    const node = oneOf(ground, redis.nodes);
    if (!node || !snapshots?.isThere) return undefined;
    return {
      victims: [node],
      describe: () => `${node.name}, from the last snapshot`,
      async begin() {
        await node.kill();
        snapshots.putBack();
      },
      lastsMs: 0,
      heal: () => startAgain(node),
    };
  },
};

/**
 * The first double failure of the README. Posts of this gateway that the ledger does not have are
 * lost, and nothing else.
 */
const WIPE_AND_KILL: Fault = {
  name: "wipe redis and kill a gateway at once",
  weight: 1,
  modes: EVERYWHERE,
  loses: "both",
  async aim(ground) {
    const gateway = oneOf(ground, ground.stage.gateways);
    const primaries = await ground.stage.redis.primaries();
    if (!gateway || !primaries.every((node) => ground.isFree(node))) return undefined;
    return {
      victims: [gateway, ...primaries],
      describe: () => `all of redis, and ${gateway.name}`,
      async begin() {
        await Promise.all(primaries.map((node) => node.server.call("FLUSHALL")));
        await gateway.kill();
      },
      lastsMs: ground.random.below(2_000),
      heal: () => startAgain(gateway),
    };
  },
};

export const FORGETTING = [WIPE, RESTORE, WIPE_AND_KILL];
