import type { Random } from "../support/random.ts";
import { clusterFaults, crash } from "./cluster-faults.ts";
import type { FaultName } from "./fault-names.ts";
import type { Host } from "./host.ts";
import { ClusterNode } from "./redis/cluster/node.ts";
import { RedisData } from "./redis/data.ts";
import type { RedisServer } from "./redis/server.ts";
import type { RedisSite } from "./redis/site.ts";
import { endMixedVersions } from "./upgrade.ts";
import type { Version } from "./versions.ts";
import type { World } from "./world.ts";

/** Injects one fault. It ends by itself, or when all faults are ended. */
export type Fault = (world: World, random: Random) => void;

const CLOCK_ERROR_MS_MAX = 600_000;

export const faults: Readonly<Partial<Record<FaultName, Fault>>> = {
  kill: onHost((world, host, random) => {
    host.kill();
    host.startLater(random.below(3_000));
    world.note(`kill ${host.name}`);
  }),
  sigterm: onHost((world, host) => {
    host.restart();
    world.note(`sigterm ${host.name}`);
  }),
  freeze: onHost((world, host, random) => {
    const { gateway } = host;
    if (!gateway) return;
    const ms = random.below(random.chance(0.3) ? 20_000 : 3_000);
    gateway.process.freeze();
    world.note(`freeze ${host.name} for ${ms} ms`);
    world.scheduler.after(ms, `thaw ${host.name}`, () => gateway.process.thaw());
  }),
  powerLoss: onHost((world, host, random) => {
    host.kill();
    host.disk.losePower();
    world.judge.powerLost(host);
    host.startLater(random.below(3_000));
    world.note(`power of ${host.name} lost`);
  }),
  diskFull: onHost((world, host, random) => {
    if (host.disk.freeBytes !== Number.POSITIVE_INFINITY) return;
    const ms = random.below(8_000);
    host.disk.freeBytes = random.below(2_000);
    world.note(`disk of ${host.name} full for ${ms} ms`);
    world.scheduler.after(ms, `disk of ${host.name}`, () => host.disk.empty());
  }),
  diskFailsSyncs: onHost((world, host, random) => {
    const { scheduler } = world;
    const ms = random.below(random.chance(0.5) ? 300 : 4_000);
    host.disk.failSyncs(scheduler.nowMs);
    world.note(`disk of ${host.name} fails syncs for ${ms} ms`);
    scheduler.after(ms, `disk of ${host.name}`, () => host.disk.endFailedSyncs(scheduler.nowMs));
  }),
  ledgerAway(world, random) {
    const ms = random.below(random.chance(0.3) ? 15_000 : 2_000);
    world.ledger.state = random.pick(["refuses", "hangs"]);
    world.note(`ledger ${world.ledger.state} for ${ms} ms`);
    world.scheduler.after(ms, "ledger back", () => {
      world.ledger.state = "up";
    });
  },
  ledgerCut: onHost((world, host, random) => {
    const { gateway } = host;
    if (!gateway) return;
    const { ledger, scheduler } = world;
    const ms = random.below(random.chance(0.5) ? 25_000 : 4_000);
    ledger.cutOff.add(gateway.process);
    world.note(`${host.name} cut off from the ledger for ${ms} ms`);
    scheduler.after(ms, `ledger of ${host.name}`, () => ledger.cutOff.delete(gateway.process));
  }),
  ledgerSlow(world, random) {
    world.ledger.isSlow = true;
    world.note("ledger slow");
    world.scheduler.after(random.below(5_000), "ledger quick", () => {
      world.ledger.isSlow = false;
    });
  },
  ledgerLosesReplies(world, random) {
    world.ledger.lostReplies = random.fraction();
    world.note("ledger loses replies");
    world.scheduler.after(random.below(4_000), "ledger replies", () => {
      world.ledger.lostReplies = 0;
    });
  },
  ledgerRestored(world, random) {
    const { ledger, scheduler } = world;
    // Most operators stop every gateway before they restore a backup, as they should. A fail-over does not ask.
    const isFailOver = random.chance(0.5);
    const age = isFailOver ? 0.1 * random.fraction() : random.fraction();
    if (!isFailOver && random.chance(0.6)) for (const host of world.hosts) host.restart();
    scheduler.after(random.below(3_000), "ledger goes down", () => {
      ledger.state = "refuses";
      const { calls, movements } = ledger.restore(age);
      world.judge.lostByLedger(calls);
      world.note(`ledger restored without ${calls.length} calls, ${movements} movements`);
      scheduler.after(random.below(3_000), "ledger restored", () => {
        ledger.state = "up";
      });
    });
  },
  newerVersion: onHost((world, host, random) => runNewer(world, host, random)),
  purseChange: ({ accountLoad }) => accountLoad.changePurse(),
  keyRevoked: ({ accountLoad }) => accountLoad.revoke(),
  clockJump: onHost((world, host, random) => {
    const { gateway } = host;
    if (!gateway) return;
    gateway.process.clockErrorMs = random.below(2 * CLOCK_ERROR_MS_MAX) - CLOCK_ERROR_MS_MAX;
    world.note(`clock of ${host.name} off by ${gateway.process.clockErrorMs} ms`);
  }),
  redisKill: onRedis((world, server, site, random) => {
    server.kill();
    world.note("redis killed");
    world.scheduler.after(random.below(4_000), "redis starts", () => site.start(server));
  }),
  redisWipe: onRedis((world, server, site, random) => {
    const isRestarted = random.chance(0.5);
    world.note(isRestarted ? "redis restarts empty" : "redis flushed");
    if (isRestarted) server.kill();
    site.replace(server, new RedisData());
    if (!isRestarted) return;
    world.scheduler.after(random.below(4_000), "redis starts", () => site.start(server));
  }),
  redisOldSnapshot: onRedis((world, server, site, random) => {
    const data = site.snapshot(server, random.fraction());
    site.keepSnapshot(server);
    if (data === undefined) return;
    // Some operators stop every gateway before they restore a snapshot, as they should.
    if (random.chance(0.3)) for (const host of world.hosts) host.restart();
    world.scheduler.after(random.below(2_000), "redis restores", () => {
      if (!site.primaries.includes(server)) return;
      world.note("redis restores a snapshot");
      server.kill();
      site.replace(server, data);
      world.scheduler.after(random.below(2_000), "redis starts", () => site.start(server));
    });
  }),
  redisFailOver: onRedis((world, server, site, random) => {
    if (server instanceof ClusterNode) return crash(world, server, random);
    const { data } = server;
    // The replica is behind, so what the primary acknowledges from now on is lost.
    const replicated = data.snapshot();
    const lagMs = random.below(random.chance(0.5) ? 60 : 1_500);
    const downMs = random.chance(0.5) ? 0 : random.below(3_000);
    world.scheduler.after(lagMs, "redis primary lost", () => {
      if (!server.up || server.data !== data) return;
      server.kill();
      world.note(`redis fails over, without the last ${lagMs} ms`);
      world.scheduler.after(downMs, "redis replica promoted", () => {
        if (server.up) return;
        site.replace(server, replicated);
        server.promote();
      });
    });
  }),
  lockedOut: onRedis((world, server, site, random) => {
    const { gateway, name } = random.pick(world.hosts);
    if (!gateway || gateway.process.frozen) return;
    const { leaseMs } = world.plan;
    const ms = 1.5 * leaseMs + random.below(leaseMs);
    gateway.process.freeze();
    site.replace(server, new RedisData());
    world.note(`redis flushed, and ${name} frozen for ${ms} ms`);
    world.scheduler.after(ms, `thaw ${name}`, () => gateway.process.thaw());
  }),
  leftOut: onRedis((world, server, site, random) => {
    const { gateway, name } = random.pick(world.hosts);
    if (!gateway || world.ledger.cutOff.size > 0) return;
    const { ledger, scheduler, plan } = world;
    const { process } = gateway;
    ledger.cutOff.add(process);
    world.note(`${name} cut off from the ledger`);
    for (const leases of [0.25, 2.75]) {
      const inMs = (leases + random.fraction() / 2) * plan.leaseMs;
      scheduler.after(inMs, "redis is flushed", () => {
        if (world.isHealed || !server.up || !site.primaries.includes(server)) return;
        world.note("redis flushed");
        site.replace(server, new RedisData());
      });
    }
    const forMs = 4.25 * plan.leaseMs;
    scheduler.after(forMs, `ledger of ${name}`, () => ledger.cutOff.delete(process));
  }),
  redisFreeze: onRedis((world, server, _site, random) => {
    const ms = random.below(random.chance(0.3) ? 14_000 : 1_500);
    server.freeze();
    world.note(`redis frozen for ${ms} ms`);
    world.scheduler.after(ms, "redis thaws", () => server.thaw());
  }),
  redisCut: onRedis((world, server) => {
    server.cut();
    world.note("connections to redis cut");
  }),
  redisLosesReplies: onRedis((world, server, _site, random) => {
    server.losesReplies = true;
    world.note("redis loses replies");
    world.scheduler.after(random.below(800), "redis replies", () => {
      server.losesReplies = false;
    });
  }),
  redisFull: onRedis((world, server, _site, random) => {
    const posts = server.data.streamEntries;
    if (posts < 3) return;
    server.postsMax = posts;
    world.note(`redis full with ${posts} posts`);
    // Mostly, Redis gets no more memory: it has room once posts are committed and acknowledged.
    if (random.chance(0.7)) return;
    world.scheduler.after(random.below(8_000), "redis has room", () => {
      server.postsMax = Number.POSITIVE_INFINITY;
    });
  }),
  redisReadOnly: onRedis((world, server, _site, random) => {
    server.isReadOnly = true;
    world.note("redis read-only");
    world.scheduler.after(random.below(3_000), "redis writable", () => {
      server.isReadOnly = false;
    });
  }),
  redisClock: onRedis((world, server, _site, random) => {
    server.clockErrorMs = random.below(2 * CLOCK_ERROR_MS_MAX) - CLOCK_ERROR_MS_MAX;
    world.note(`clock of redis off by ${server.clockErrorMs} ms`);
  }),
  ...clusterFaults,
};

/** Runs the newer version on a host for a while. Half of all its starts and ends are kills. */
function runNewer(world: World, host: Host, random: Random): void {
  if (host.version !== "this") return;
  const install = (next: Version) => {
    host.version = next;
    world.note(`${host.name} gets ${next} version`);
    if (random.chance(0.5)) return host.restart();
    host.kill();
    host.startLater(random.below(3_000));
  };
  install("newer");
  world.scheduler.after(random.below(10_000), `versions of ${host.name}`, () => {
    if (!world.isHealed && host.version === "newer") install("this");
  });
}

/** Ends every fault. */
export function heal(world: World): void {
  const { ledger } = world;
  ledger.state = "up";
  ledger.cutOff.clear();
  ledger.isSlow = false;
  ledger.lostReplies = 0;
  world.redis?.heal();
  for (const host of world.hosts) {
    host.disk.empty();
    host.disk.endFailedSyncs(world.scheduler.nowMs);
    host.gateway?.process.thaw();
    if (!host.gateway) host.startLater(0);
  }
  if (world.plan.faults.has("newerVersion")) endMixedVersions(world);
}

function onRedis(
  work: (world: World, server: RedisServer, site: RedisSite, random: Random) => void,
): Fault {
  return (world, random) => {
    const { redis } = world;
    const [first, ...others] = redis?.primaries ?? [];
    const server = first && others.length > 0 ? random.pick([first, ...others]) : first;
    // A server that is down gets no other fault.
    if (redis && server?.up) work(world, server, redis, random);
  };
}

function onHost(work: (world: World, host: Host, random: Random) => void): Fault {
  return (world, random) => work(world, random.pick(world.hosts), random);
}
