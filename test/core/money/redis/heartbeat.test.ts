import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import { Heartbeat } from "../../../../core/money/redis/heartbeat.ts";
import type { Membership } from "../../../../core/money/redis/membership.ts";
import { membersScript, settledScript } from "../../../../core/money/redis/scripts.ts";
import { type Member, readView } from "../../../../core/money/redis/view.ts";
import { systemMachine } from "../../../../core/process/machine.ts";
import type { RedisCommands } from "../../../../core/redis/client.ts";
import { listOf, textOf } from "../../../../core/redis/reply.ts";
import type { Script } from "../../../../core/redis/script.ts";
import { type RedisServer, startRedisServer } from "../../../support/redis.ts";
import { until } from "../../../support/until.ts";
import { ManualMachine } from "../manual-machine.ts";
import { holdRequest } from "../wallet-fixtures.ts";
import { clientOf, connectedClient, startStore } from "./store.ts";
import { SwitchedClient } from "./switched-client.ts";

const WALLET = {
  accountId: "A",
  balanceMicroVnd: 1_000n,
  creditVersion: 1,
  creditedMicroVnd: 1_000n,
};

let server: RedisServer;

t.before(async () => {
  server = await startRedisServer();
});

t.teardown(() => server.stop());

/** A client that counts the heartbeats of its process, and can drop them. */
class BeatClient extends SwitchedClient {
  beats = 0;
  isMute = false;
  /** Commands for all settled buckets. */
  settled = 0;

  override run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    if (script === settledScript) this.settled += 1;
    if (!keys.some((key) => key.includes(":beat:"))) return super.run(script, keys, args);
    if (this.isMute) return Promise.reject(new Error("dropped by the test"));
    if (args[0] !== "") this.beats += 1;
    return super.run(script, keys, args);
  }
}

t.test("an idle gateway keeps its leases by one command for all buckets", async (t) => {
  const times = { leaseMs: 1_000 };
  const client = new BeatClient([server]);
  const own = await startStore({ servers: server.url, client, times });
  const { prefix } = own;
  const other = await startStore({ servers: server.url, prefix, times });
  await own.store.load("A", async () => WALLET);
  t.equal((await own.store.hold(holdRequest("c1", 300))).kind, "held");
  await until("both are quiet", () => client.settled > 0);
  const direct = await connectedClient(server.url);
  t.teardown(() => direct.disconnect());
  const beats = async () => {
    const keys = listOf(await direct.call("KEYS", `${prefix}:*:beats`)).map(String);
    const each = await Promise.all(keys.map((key) => direct.call("HVALS", key)));
    return each.flatMap((counts) => listOf(counts).map(Number));
  };
  const before = await beats();
  await until("the settled buckets have beaten ten times", () => client.settled >= 10);
  await until("each process beats in each bucket", async () => {
    const now = await beats();
    return now.every((count, at) => count > (before[at] ?? 0));
  });
  t.equal((await other.store.balances("A"))?.heldMicroVnd, 300);
  await other.dispose();
  await own.dispose();
});

t.test(
  "idle gateways send a heartbeat for the process, and hardly any for its buckets",
  async (t) => {
    const times = { leaseMs: 60_000 };
    const clients = [new BeatClient([server]), new BeatClient([server])] as const;
    const [client] = clients;
    const first = await startStore({ servers: server.url, client, times });
    const { prefix } = first;
    const second = await startStore({ servers: server.url, client: clients[1], prefix, times });
    await until("both know each other", () => clients.every(({ beats }) => beats > 20));
    const [beats, looks] = [client.beats, client.looks];
    await until("100 heartbeats", () => client.beats >= beats + 100);
    t.ok(
      client.looks - looks < 40,
      `${client.looks - looks} looks in 100 heartbeats; one a bucket is 400`,
    );
    await second.dispose();
    await first.dispose();
  },
);

t.test("a gateway whose own heartbeat does not reach the first bucket", async (t) => {
  const leaseMs = 1_000;
  const client = new BeatClient([server]);
  client.isMute = true;
  const own = await startStore({ servers: server.url, times: { leaseMs } });
  const { prefix } = own;
  const earlier = await startStore({ servers: server.url, client, prefix, times: { leaseMs } });
  await own.store.load("A", async () => WALLET);
  t.equal((await earlier.store.hold(holdRequest("c1", 300))).kind, "held");

  t.test("keeps its hold far beyond a lease", async (t) => {
    await delay(3 * leaseMs);
    t.equal((await own.store.balances("A"))?.heldMicroVnd, 300);
  });

  t.test("loses it once it is dead", async () => {
    await earlier.die();
    await until("the hold is given back", async () => {
      return (await own.store.balances("A"))?.heldMicroVnd === 0;
    });
    await own.dispose();
  });
});

/** A membership that lists these processes, and is or is not fresh. */
function listing(processes: readonly string[], isFresh = true): Membership {
  const members = processes.map((process) => ({ process, beat: "1", verified: true }));
  const bucket = { keys: { epoch: "e", version: "v" } };
  const fake = { view: { members }, bucket, isFresh: () => isFresh };
  const calls = { glanced: () => true, settled: { end: () => true } };
  return { ...fake, ...calls } as unknown as Membership;
}

interface Beat {
  readonly watched: readonly string[];
  readonly count: string;
  /** The keys of each read. */
  readonly reads: readonly (readonly string[])[];
}

/** Runs a heartbeat until it has beaten once, and returns what it sent. */
async function firstBeat(
  process: string,
  memberships: readonly Membership[],
  isCluster = false,
): Promise<Beat> {
  const reads: string[][] = [];
  let sent: Beat | undefined;
  const client = {
    isCluster,
    call: async (_: string, ...keys: string[]) => {
      reads.push(keys);
      return keys.map(() => null);
    },
    run: async (
      _: Script,
      [, , ...watched]: readonly string[],
      [count = ""]: readonly string[],
    ) => {
      sent ??= { watched: watched.map((key) => key.replace(/^.*:/, "")), count, reads };
      return [...watched.map(() => "1"), "run address"];
    },
  } as unknown as RedisCommands;
  const heartbeat = new Heartbeat({
    ...{ client, prefix: "t", process, memberships: new Map(memberships.entries()) },
    ...{
      hurry: () => {},
      beatSettled: () => {},
      times: { heartbeatMs: 60_000, leaseMs: 1_000 },
      machine: systemMachine,
    },
  });
  heartbeat.start();
  await until("it beats", () => sent !== undefined);
  await heartbeat.stop();
  return sent ?? { watched: [], count: "", reads };
}

t.test("a process watches the next 16 in a ring of their ids, so all are watched", async (t) => {
  const ids = Array.from({ length: 40 }, (_, at) => `p${String(at).padStart(2, "0")}`);
  // One joined again after its leases had ended.
  const members = ids.map((id) => (id === "p05" ? "p05~2" : id));
  const watched = await Promise.all(ids.map((id) => firstBeat(id, [listing(members)])));
  t.strictSame(watched[39]?.watched, ids.slice(0, 16));
  t.strictSame(watched[30]?.watched, [...ids.slice(31), ...ids.slice(0, 7)]);
  for (const id of ids) {
    t.equal(watched.filter((each) => each.watched.includes(id)).length, 16, id);
  }
});

t.test("a heartbeat waits for its reply before the next is sent", async (t) => {
  const machine = new ManualMachine();
  const replies: (() => void)[] = [];
  const client = {
    isCluster: false,
    call: async (_: string, ...keys: string[]) => keys.map(() => null),
    run: () => new Promise((resolve) => replies.push(() => resolve(["1", "run address"]))),
  } as unknown as RedisCommands;
  const heartbeat = new Heartbeat({
    ...{ client, prefix: "t", process: "p", memberships: new Map([["b", listing(["p", "q"])]]) },
    ...{
      hurry: () => {},
      beatSettled: () => {},
      times: { heartbeatMs: 1_000, leaseMs: 10_000 },
      machine,
    },
  });
  heartbeat.start();
  await machine.advance(5_000);
  t.equal(replies.length, 1);
  replies[0]?.();
  await machine.advance(0);
  await machine.advance(1_000);
  t.equal(replies.length, 2);
});

t.test("without quiet, rounds that pause are hurried, and no others", async (t) => {
  const machine = new ManualMachine();
  const client = {
    isCluster: false,
    call: async (_: string, ...keys: string[]) => keys.map(() => null),
    run: () => Promise.reject(new Error("dropped by the test")),
  } as unknown as RedisCommands;
  const paused = Object.assign(listing(["p"]), { settled: { end: () => false } });
  const running = listing(["p"]);
  const hurried: Membership[] = [];
  const hurry = (membership: Membership) => void hurried.push(membership);
  const memberships = new Map(Object.entries({ paused, running }));
  const heartbeat = new Heartbeat({
    ...{ client, prefix: "t", process: "p", memberships },
    ...{ hurry, beatSettled: () => {}, times: { heartbeatMs: 1_000, leaseMs: 10_000 }, machine },
  });
  heartbeat.start();
  await machine.advance(1_000);
  t.ok(hurried.includes(paused));
  t.notOk(hurried.includes(running));
});

/** Starts the heartbeat of process `p`, which is a member of one bucket, and lets it beat once. */
async function beatenOnce(client: RedisCommands, membership: Membership, machine: ManualMachine) {
  const heartbeat = new Heartbeat({
    ...{ client, prefix: "t", process: "p", memberships: new Map([["b", membership]]) },
    ...{
      hurry: () => {},
      beatSettled: () => {},
      times: { heartbeatMs: 1_000, leaseMs: 10_000 },
      machine,
    },
  });
  heartbeat.start();
  await machine.advance(1_000);
  return heartbeat;
}

t.test("a heartbeat forgets processes that have left", async (t) => {
  const machine = new ManualMachine();
  const members = [{ process: "p" }, { process: "q" }];
  const membership = Object.assign(listing([]), { view: { members } });
  const client = {
    isCluster: false,
    call: async (_: string, ...keys: string[]) => keys.map(() => null),
    run: async (_: Script, [, , ...watched]: readonly string[]) => [
      ...watched.map(() => "1"),
      "run address",
    ],
  } as unknown as RedisCommands;
  const heartbeat = await beatenOnce(client, membership, machine);
  t.not(heartbeat.beatAtMs("q"), undefined);
  members.pop();
  heartbeat.listed();
  await machine.advance(1_000);
  t.equal(heartbeat.beatAtMs("q"), undefined);
});

t.test("a process that is not fresh in a bucket sends no heartbeat", async (t) => {
  t.equal((await firstBeat("p", [listing(["p"])])).count, "1");
  t.equal((await firstBeat("p", [listing(["p"]), listing(["p"], false)])).count, "");
});

t.test(
  "a heartbeat reads all buckets by one command, and in a cluster by one for each slot",
  async (t) => {
    const buckets = [listing(["p"]), listing(["p"])];
    t.strictSame((await firstBeat("p", buckets)).reads, [["e", "v", "e", "v"]]);
    t.strictSame((await firstBeat("p", buckets, true)).reads, [
      ["e", "v"],
      ["e", "v"],
    ]);
    t.equal(clientOf(["redis://127.0.0.1:1"]).isCluster, true);
    t.equal(clientOf("redis://127.0.0.1:1").isCluster, false);
  },
);

t.test("a look names the members that changed since the version that it knows", async (t) => {
  const client = await connectedClient(server.url);
  const epochKey = `t-${randomUUID()}:{b00}:epoch`;
  const ask = (...args: string[]) => client.run(membersScript, [epochKey], args);
  const ids = Array.from({ length: 40 }, (_, at) => `p${at}`);
  let epoch = "";
  for (const id of ids) epoch = textOf(await ask("join", id, epoch, "0"));
  let view = readView(await ask("look", "p0", epoch, "0", "0", ""));
  t.equal(view.members.length, 40);
  /** Looks for changes. Returns what the server named, all members after it, and how many there are. */
  const look = async (known: readonly Member[] = view.members) => {
    const state = [view.server, view.version];
    const reply = await ask("look", "p0", epoch, "0", "0", ...state, "0", "1");
    view = readView(reply, known);
    const changes = listOf(reply)[10] ?? [];
    const named = listOf(changes).map((change) => textOf(listOf(change)[0]));
    return [view.isListed ? "all" : named.join(" "), view.isUpdated, view.members.length];
  };
  t.strictSame(await look(), ["", false, 40]);
  await ask("join", "p40", epoch, "0");
  t.strictSame(await look(), ["p40", true, 41]);
  await ask("leave", "p1", epoch);
  await ask("reap", "p40", epoch, "p2", "1");
  await ask("join", "p41", epoch, "0");
  await ask("leave", "p41", epoch);
  t.strictSame(await look(), ["p41 p2 p1", true, 39]);
  t.notOk(view.members.some(({ process }) => ["p1", "p2", "p41"].includes(process)));
  t.ok(view.members.every(({ verified }) => verified));

  for (const id of ids.slice(5)) await ask("leave", id, epoch);
  for (const id of ids.slice(5)) await ask("join", id, epoch, "0");
  t.strictSame(await look(), ["all", false, 39], "too many changes");
  client.disconnect();
});

t.test(
  "a single Redis does not add up all wallets after a restart, as a cluster does",
  async (t) => {
    const client = await connectedClient(server.url);
    const epochKey = `t-${randomUUID()}:{b00}:epoch`;
    const ask = (...args: string[]) => client.run(membersScript, [epochKey], args);
    const epoch = textOf(await ask("join", "p", "", "0"));
    const { server: found } = readView(await ask("look", "p", epoch, "0", "0", ""));
    /** Looks as the first member after a restart. Returns how often the look reads all holds. */
    const look = async (isCluster: "0" | "1") => {
      await server.call("HDEL", epochKey.replace(/epoch$/, `${epoch}:verified`), "#");
      await server.call("CONFIG", "RESETSTAT");
      const state = [found, "", "1", "0", "0", isCluster];
      const { operations } = readView(await ask("look", "p", epoch, "0", "0", ...state));
      const stats = textOf(await server.call("INFO", "commandstats"));
      return [operations, Number(/cmdstat_hvals:calls=(\d+)/.exec(stats)?.[1] ?? 0)];
    };
    t.strictSame(await look("1"), [1, 1]);
    t.strictSame(await look("0"), [1, 0]);
    client.disconnect();
  },
);

t.test("a settled bucket's look reads no INFO, if the heartbeat knows the server", async (t) => {
  const client = await connectedClient(server.url);
  const epochKey = `t-${randomUUID()}:{b00}:epoch`;
  const ask = (...args: string[]) => client.run(membersScript, [epochKey], args);
  const epoch = textOf(await ask("join", "p", "", "0"));
  const view = readView(await ask("look", "p", epoch, "0", "0", ""));
  /** Looks as a process that found a server before. Returns how often the look reads INFO, and the server that it finds. */
  const look = async (found: string, isKnown: "0" | "1") => {
    await server.call("CONFIG", "RESETSTAT");
    const state = [found, view.version, "0", "0", isKnown];
    const { server: now } = readView(await ask("look", "p", epoch, "0", "0", ...state));
    const stats = textOf(await server.call("INFO", "commandstats"));
    return [Number(/cmdstat_info:calls=(\d+)/.exec(stats)?.[1] ?? 0), now];
  };
  t.strictSame(await look(view.server, "1"), [0, view.server]);
  t.strictSame(await look(view.server, "0"), [2, view.server]);
  const restarted = view.server.replace(/0x\w+/, "0x1");
  t.strictSame(await look(restarted, "1"), [2, view.server]);
  client.disconnect();
});

t.test(
  "a heartbeat gives every bucket the server that it found, but not in a cluster",
  async (t) => {
    for (const isCluster of [false, true]) {
      const servers: string[] = [];
      const glanced = (...args: string[]) => servers.push(args[3] ?? "none") > 0;
      const membership = Object.assign(listing(["p"]), { glanced }) as unknown as Membership;
      const client = {
        isCluster,
        call: async (_: string, ...keys: string[]) => keys.map(() => null),
        run: async () => ["run address"],
      } as unknown as RedisCommands;
      await beatenOnce(client, membership, new ManualMachine());
      t.equal(servers[0], isCluster ? "" : "run address");
    }
  },
);
