import { readdirSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { MICRO_VND_MAX } from "../../../core/catalogue/amount.ts";
import { BucketKeys } from "../../../core/money/redis/keys.ts";
import {
  epochScript,
  type MoneyOperation,
  moneyScript,
} from "../../../core/money/redis/scripts.ts";
import { packageRoot } from "../../../core/process/root.ts";
import { RedisClient } from "../../../core/redis/client.ts";
import { readLua, type Script, script } from "../../../core/redis/script.ts";
import { Random } from "../../support/random.ts";
import { startRedisServer } from "../../support/redis.ts";
import { Scheduler } from "../scheduler.ts";
import { LuaScripts } from "./lua.ts";
import { RedisServer } from "./server.ts";

/** More than most wallets have. */
const LARGE = "9000";
/** Twice as many as the random operations need to reach all of `REACHED`. */
const SEEDS = 12;
const OPERATIONS = 300;
const LUA = "core/money/redis/lua";
/** The files that begin or end scripts. They are not operations themselves. */
const HEADS = ["epoch", "money", "run"];
const progressScript = script(readLua(`${LUA}/progress.lua`));
const LATER_MS = "600000";
/** The place of a post: its epoch, its process, and its id in their outbox, which contains the time. */
const PLACE = /(\d+-e)\|(p\d)\|(\d{13}-\d+)/g;

type Run = (script: Script, keys: readonly string[], args: readonly string[]) => Promise<unknown>;

type KeysAndArgs = readonly [keys: readonly string[], args: readonly string[]];

const WHICH_SERVER = script(
  "return string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') .. ' ' .. tostring(redis) .. ' ' .. " +
    "string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)')",
);

interface Operation {
  readonly name: string;
  /** The script of the money names the server, so each side has its own. */
  readonly script: Script | "money";
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

t.test("the simulated Redis runs every script as a real one does", async (t) => {
  const server = await startRedisServer();
  const client = new RedisClient(server.url, 30_000);
  await new Promise<void>((resolve) => client.connect(resolve));
  t.teardown(async () => {
    client.disconnect();
    await server.stop();
  });
  const lua = new LuaScripts();
  const kinds = new Set<string>();
  const run = new Set<string>();
  const differences: string[] = [];
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    await server.call("FLUSHALL");
    const real = await Side.of((script, keys, args) => client.run(script, keys, args));
    const simulated = await Side.of(simulatedRun(lua));
    const random = new Random(seed);
    const plan = new Plan(random);
    for (let at = 0; at < OPERATIONS; at += 1) {
      const operation = plan.next();
      const [reply, expected] = [await simulated.run(operation), await real.run(operation)];
      const what = `seed ${seed}: ${operation.name}: ${operation.args.join(" ")}`;
      if (reply !== expected) differences.push(`${what}: ${reply}, not ${expected}`);
      else if (expected.startsWith(FAILED)) differences.push(`${what}: ${expected}`);
      plan.hear(expected);
      const replies = operation.script === "money" ? JSON.parse(expected).slice(1) : [expected];
      for (const [at, name] of operation.name.split(" ").entries()) {
        run.add(name);
        kinds.add(`${name} ${/[a-z]{2,}/.exec(String(replies[at]))?.[0] ?? ""}`);
      }
    }
  }
  t.strictSame(differences, []);
  const files = readdirSync(join(packageRoot, LUA)).map((file) => file.replace(/\.lua$/, ""));
  t.strictSame(
    files.filter((name) => !HEADS.includes(name) && !run.has(name)),
    [],
    `every file of ${LUA} is run; add the missing ones to Plan`,
  );
  t.strictSame(
    REACHED.filter((kind) => !kinds.has(kind)),
    [],
    "the random operations reach all that matters",
  );
});

/** Operations with their results, to check that the random ones reach all important results. */
const REACHED = [
  ...["hold held", "hold short", "hold unknown", "hold stale", "extend held"],
  ...[
    "progress generation",
    "extend short",
    "extend gone",
    "post posted",
    "post duplicate",
    "acknowledge ok",
  ],
  ...["void ok", "post short", "credit ok", "load loaded"],
];

function simulatedRun(lua: LuaScripts): Run {
  const scheduler = new Scheduler(new Random(1));
  const random = new Random(2);
  const server = new RedisServer({ scheduler, random, lua, onBelowZero() {} });
  return async ({ source }, keys, args) => {
    // Time passes on a real server too. Otherwise an outbox that was deleted would give an id twice.
    server.clockErrorMs += 1;
    return server.execute("EVAL", [source, String(keys.length), ...keys, ...args]);
  };
}

/** One of the two servers. The ids of its posts become `#0`, `#1`, … in the order in which it gave them. */
class Side {
  private readonly places: string[] = [];
  private readonly ids: string[] = [];
  private readonly money: Script;

  private constructor(
    private readonly execute: Run,
    private readonly server: string,
  ) {
    this.money = moneyScript("b00", server);
  }

  static async of(execute: Run): Promise<Side> {
    return new Side(execute, String(await execute(WHICH_SERVER, [], [])));
  }

  async run({ script, keys, args }: Operation): Promise<string> {
    const own = args.map((each) =>
      each
        .replace(/(?<=\0)#(\d+)(?=\0)/, (_, at) => this.ids[at] ?? "1-1")
        .replace("@server", this.server),
    );
    const found = await this.execute(script === "money" ? this.money : script, keys, own).then(
      JSON.stringify,
      failed,
    );
    const reply = found.replace(/[0-9a-f]{40} table: 0x[0-9a-f]+ [0-9a-f]{40}/g, "server");
    return reply.replace(PLACE, (place, epoch, process, id) => {
      if (!this.places.includes(place)) {
        this.places.push(place);
        this.ids.push(id);
      }
      return `${epoch}|${process}|#${this.places.lastIndexOf(place)}`;
    });
  }
}

const FAILED = "failed";

/** A script that fails on both servers had invalid arguments. The text of the error differs between them. */
function failed(error: unknown): string {
  return `${FAILED}: ${error instanceof Error ? error.message : String(error)}`;
}

/** Plans random operations: three processes use one bucket, with two accounts and two purses. */
class Plan {
  private readonly keys = new BucketKeys("t", 0);
  private epoch = "1-e";
  private counter = 1;
  private begun = 0;
  private version = 0;
  private credited = 0;
  private readonly outboxes: string[] = [];

  constructor(private readonly random: Random) {}

  /** Learns the epoch, and the outbox of a new post, from a reply. */
  hear(reply: string): void {
    this.epoch = /^"(\d+-e)"$/.exec(reply)?.[1] ?? this.epoch;
    for (const place of reply.matchAll(/posted\\n\d+\\n\d+\\n(\d+-e)\|(p\d)\|#/g))
      this.outboxes.push(this.keys.outbox(place[1] ?? "", place[2] ?? ""));
  }

  next(): Operation {
    this.begun += 1;
    if (this.begun <= SETUP.length) return this.setUp(this.begun - 1);
    const { random } = this;
    if (random.chance(0.03)) return this.ofProgress();
    return random.chance(0.06) ? this.ofEpoch() : this.ofMoney();
  }

  /** Returns an operation with commit counts of three writers: some raise the kept counts, and some drop them. */
  private ofProgress(): Operation {
    const { random } = this;
    const counts = () =>
      ["w0", "w1", "w2"].filter(() => random.chance(0.5)).flatMap((w) => [w, `${random.below(4)}`]);
    const dropped = counts();
    const generation = String(random.below(2 + this.begun / 60));
    const isAllWanted = random.pick(["1", "1", "0"]);
    const args = [isAllWanted, generation, `${dropped.length / 2}`, ...dropped, ...counts()];
    return { name: "progress", script: progressScript, keys: [this.keys.ledger], args };
  }

  private setUp(at: number): Operation {
    const [name = "look", ...args] = SETUP[at] ?? [];
    return this.named(name, `p${(at - 1) % 3}`, args);
  }

  private ofEpoch(): Operation {
    const { random, epoch } = this;
    const [process, other] = [`p${random.below(3)}`, `p${random.below(3)}`];
    const earlier = random.pick([epoch, "0-e", "1-e"]);
    const argumentsOf: Readonly<Record<string, readonly string[]>> = {
      look: [],
      begin: [
        random.pick([epoch, epoch, "0-e"]),
        `${++this.counter}-e`,
        random.pick(["@server", "@server", "@server", "other"]),
      ],
      enter: [epoch],
      leave: [epoch],
      reap: [epoch, other, random.pick(["1", "2"])],
      open: [epoch],
      claim: [`${earlier}|${other}`, ""],
      finish: [`${earlier}|${other}`],
      "hand-over": [epoch, earlier, `c${random.below(12)}`, "entry", "5", "0"],
    };
    // Most operations are those of members.
    const name = random.pick([...Object.keys(argumentsOf), "enter", "enter", "open"]);
    return this.named(name, process, argumentsOf[name] ?? []);
  }

  private named(name: string, process: string, args: readonly string[]): Operation {
    const keys = this.keys.ofEpoch;
    return { name, script: epochScript, keys, args: [name, process, ...args] };
  }

  /** Returns one script with up to four operations of a process. */
  private ofMoney(): Operation {
    const { random } = this;
    const process = `p${random.below(3)}`;
    const { wallets, holds, members } = this.keys.under(this.epoch, process);
    const operations = Array.from({ length: 1 + random.below(4) }, () => this.operation(process));
    return {
      name: operations.map(([name]) => name).join(" "),
      script: "money",
      keys: [members, wallets, holds, ...operations.flatMap(([, [keys]]) => keys)],
      args: [
        process,
        ...operations.map(([name, [keys, fields]]) =>
          [name, keys.length, ...fields, ""].join("\0"),
        ),
      ],
    };
  }

  private operation(process: string): readonly [name: string, KeysAndArgs] {
    const { random } = this;
    const [call, account] = [`c${random.below(12)}`, `a${random.below(2)}`];
    const { acceptsLoads, outbox } = this.keys.under(this.epoch, process);
    const amount = () => String(random.below(4_000));
    const purses = random.pick(["", "", "", "|day"]);
    const version = String(this.version);
    const all: Readonly<Record<MoneyOperation, KeysAndArgs>> = {
      hold: this.hold(call, account),
      extend: [[], random.chance(0.3) ? [call, LARGE, LARGE] : [call, amount(), amount()]],
      post: [
        [outbox, this.keys.call(call)],
        [
          ...[call, account, amount()],
          `{${random.below(3)} ${call} của\n${account}`,
          ...[this.epoch, purses],
          ...random.pick([[], [], ["whole", "60000"], ["asked", "60000"]]),
        ],
      ],
      void: [[], [call]],
      credit: [[], this.credit(account)],
      load: [
        [acceptsLoads],
        [
          ...(random.chance(0.6)
            ? [account, amount(), version, String(this.credited)]
            : [account + random.pick(["|day", "|month"]), `-${amount()}`, "0", "0"]),
          random.pick(["", "", "1", "2"]),
        ],
      ],
      close: [
        [],
        [
          String(this.begun),
          random.pick(["0", ...Array(9).fill(LATER_MS)]),
          account + purses,
          `other${purses}`,
        ],
      ],
      acknowledge: this.acknowledge(account + purses),
      noop: [[], []],
    };
    return random.pick(Object.entries(all));
  }

  private hold(call: string, account: string): KeysAndArgs {
    const { random } = this;
    const amounts = [String(random.below(4_000)), String(random.below(4_000))];
    const version = random.pick(["", String(this.version), "0"]);
    const purses = random.pick(["", "|day=5000", "|day=3000|month=5000"]);
    return [[this.keys.revoked("key")], [call, account, ...amounts, version, purses]];
  }

  private acknowledge(account: string): KeysAndArgs {
    const at = this.random.below(this.outboxes.length + 1);
    const outbox = this.outboxes[at] ?? this.keys.outbox(this.epoch, "p0");
    const isOfThisEpoch = outbox.includes(this.epoch) ? "1" : "0";
    const charge = String(this.random.below(300));
    return [
      [outbox, this.keys.call("c1")],
      [isOfThisEpoch, LATER_MS, `#${at}`, account, charge, this.random.pick(["", "", "1"])],
    ];
  }

  private credit(account: string): readonly string[] {
    const { random } = this;
    if (random.chance(0.8)) {
      this.version += 1;
      this.credited += random.below(6_000) - 2_000;
    }
    return [account, String(this.version), String(this.credited), String(MICRO_VND_MAX)];
  }
}

/** The first three gateways enter an epoch, so that most operations are those of members. */
const SETUP = [
  ["begin", "", "1-e", "@server"],
  ["enter", "1-e"],
  ["enter", "1-e"],
  ["enter", "1-e"],
  ["open", "1-e"],
];
