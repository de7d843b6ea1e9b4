import t from "tap";
import { Random } from "../../../support/random.ts";
import { type RedisServer, startRedisCluster } from "../../../support/redis.ts";
import { until } from "../../../support/until.ts";
import { Scheduler } from "../../scheduler.ts";
import { RedisData } from "../data.ts";
import { LuaScripts } from "../lua.ts";
import { Cluster } from "./cluster.ts";

const [A, B, NONE] = ["{b00}:a", "{b00}:b", "{b00}:none"];
/** Uses a key that it does not declare. */
const UNDECLARED = "return redis.call('HGET', '{b00}:b', 'f')";
const WRITES_UNDECLARED = "redis.call('HSET', '{b00}:c', 'f', 'x') return 'written'";
const COMMANDS: readonly (readonly string[])[] = [
  ["HGET", A, "f"],
  ["HGET", B, "f"],
  ["HGET", NONE, "f"],
  ["MGET", A, B],
  ["MGET", A, NONE],
  ["DEL", NONE],
  ["HGET", "{b01}:a", "f"],
  ["MGET", A, "{b01}:a"],
  ["EVAL", "return redis.call('HGET', KEYS[1], 'f')", "1", A],
  ["EVAL", "return 'ran'", "2", A, B],
  ["EVAL", "return 'ran'", "2", A, NONE],
  ["EVAL", UNDECLARED, "1", A],
  ["EVAL", UNDECLARED, "1", B],
  ["EVAL", WRITES_UNDECLARED, "1", A],
  ["EVALSHA", "098e0f0d1448c0a81dafe820f66d460eb09263da", "1", A],
];

/** The source owns the slot. At first it has both keys, at last the target owns the slot and has both. */
const STATES = ["at rest", "no key moved", "one key moved", "both keys moved", "moved"] as const;
type State = (typeof STATES)[number];
const NODES = ["source", "target", "target, asking", "other"] as const;

/** Sends a command to a node, and returns the reply, or the error. */
type Send = (node: (typeof NODES)[number], command: readonly string[]) => Promise<string>;

t.test("the nodes of a simulated cluster redirect as real ones do", async (t) => {
  const [real, simulated] = [await realCluster(t.teardown.bind(t)), simulatedCluster()];
  for (const state of STATES) {
    for (const side of [real, simulated]) await side.reach(state);
    for (const node of NODES) {
      const repliesOf = (side: Side) =>
        Promise.all(COMMANDS.map((command) => side.send(node, command)));
      const [expected, found] = await Promise.all([real, simulated].map(repliesOf));
      for (const [at, command] of COMMANDS.entries()) {
        t.equal(found?.[at], expected?.[at], `${state}, ${node}: ${command.join(" ")}`);
      }
    }
  }
});

interface Side {
  readonly send: Send;
  /** Brings the slot into the next state. */
  reach(state: State): Promise<void>;
}

async function realCluster(teardown: (end: () => Promise<void>) => void): Promise<Side> {
  const cluster = await startRedisCluster();
  teardown(() => cluster.stop());
  const slot = String(await cluster.nodes[0]?.call("CLUSTER", "KEYSLOT", A));
  const at = Math.floor((Number(slot) * 3) / 16_384);
  const [source, target, other] = [0, 1, 2].map((each) => cluster.nodes[(at + each) % 3]);
  if (!source || !target || !other) throw new Error("there are three nodes");
  const idOf = async (node: RedisServer) => String(await node.call("CLUSTER", "MYID"));
  const [from, to] = [await idOf(source), await idOf(target)];
  const names = new Map([source, target, other].map((node, n) => [`:${node.port}`, `n${n}`]));
  const move = (key: string) =>
    source.call("MIGRATE", "127.0.0.1", `${target.port}`, key, "0", "5000");
  return {
    async send(name, command) {
      const node = { source, target, "target, asking": target, other }[name];
      const [first = "", ...args] = command;
      const asking = name === "target, asking" ? node.call("ASKING") : undefined;
      const reply = await replyOf(node.call(first, ...args));
      await asking;
      return reply
        .replace(/ (\d+) [\d.]+(:\d+)$/, (_, number, port) =>
          number === slot ? ` 0 ${names.get(port)}` : ` 1 ${names.get(port)}`,
        )
        .replace(/ script: .*/s, "");
    },
    async reach(state) {
      if (state === "at rest") {
        await source.call("HSET", A, "f", "1");
        await source.call("HSET", B, "f", "2");
      } else if (state === "no key moved") {
        await target.call("CLUSTER", "SETSLOT", slot, "IMPORTING", from);
        await source.call("CLUSTER", "SETSLOT", slot, "MIGRATING", to);
      } else if (state === "one key moved") await move(A);
      else if (state === "both keys moved") await move(B);
      else {
        // A script has left a key at the source. It drops the key once a message of the target names the owner.
        for (const node of [target, source, other]) {
          const assign = () => node.call("CLUSTER", "SETSLOT", slot, "NODE", to);
          await until("the slot is assigned", () => assign().then(Boolean, () => false));
        }
      }
    },
  };
}

function simulatedCluster(): Side {
  const random = new Random(1);
  const scheduler = new Scheduler(random);
  const cluster = new Cluster({
    scheduler,
    random,
    lua: new LuaScripts(),
    slots: 3,
    onBelowZero() {},
    onLost() {},
    onTakenOver() {},
  });
  const [source, target, other] = cluster.nodes;
  if (!source || !target || !other) throw new Error("there are six nodes");
  const names = new Map([source, target, other].map((node, n) => [node.address, `n${n}`]));
  return {
    async send(name, [first = "", ...args]) {
      const node = { source, target, "target, asking": target, other }[name];
      const run = async () => node.execute(first, args, name === "target, asking");
      return (await replyOf(run())).replace(/ (\S+)$/, (_, last) => ` ${names.get(last) ?? last}`);
    },
    async reach(state) {
      if (state === "at rest") {
        source.replace(new RedisData());
        source.execute("HSET", [A, "f", "1"]);
        source.execute("HSET", [B, "f", "2"]);
      } else if (state === "no key moved") {
        target.importing.add(0);
        source.migrating.set(0, target);
      } else if (state === "one key moved") source.moveKey(A, target);
      else if (state === "both keys moved") source.moveKey(B, target);
      else {
        target.importing.clear();
        source.migrating.clear();
        for (const node of [source, target, other]) node.learn(0, target, 100);
      }
    },
  };
}

function replyOf(reply: Promise<unknown>): Promise<string> {
  return reply.then(
    (value) => JSON.stringify(value),
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
}
