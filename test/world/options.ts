import { parseArgs } from "node:util";
import { argumentProblem } from "../../core/process/command-line.ts";
import {
  CLUSTER,
  EVERYWHERE,
  FAULTS,
  type FaultName,
  isFaultName,
  LATER,
  LATER_REDIS,
  namesOf,
  REDIS,
  STORES,
  type StoreKind,
} from "./fault-names.ts";
import { PLANTS } from "./plants/plants.ts";

/** Maximum gateways: with more, a run takes minutes. */
const GATEWAYS_MAX = 50;
const EVERY_MS = 5_000;
const NAME_COLUMN = 24;

export interface Options {
  readonly firstSeed: number;
  readonly seeds: number;
  readonly store: StoreKind | undefined;
  readonly gateways: number | undefined;
  readonly calls: number | undefined;
  readonly faults: Partial<Record<FaultName, number>> | undefined;
  readonly plant: string | undefined;
  readonly focus: boolean;
  readonly first: boolean;
  readonly hash: boolean;
  readonly trace: boolean;
}

/** Says which option is wrong, and what it can be. */
export class WrongOption extends Error {}

/** Parses the arguments of `npm run simulate`. Returns undefined if help is wanted. Throws WrongOption. */
export function parseOptions(args: readonly string[]): Options | undefined {
  const values = valuesOf(args);
  if (values.help) return undefined;
  const { seed, store, plant } = values;
  const kind = STORES.find((each) => each === store);
  if (store !== undefined && kind === undefined)
    throw new WrongOption(`no store ${store}; there are ${STORES.join(", ")}`);
  if (plant !== undefined && PLANTS[plant] === undefined)
    throw new WrongOption(`no plant ${plant}; --help lists them`);
  if (values.focus && plant === undefined) throw new WrongOption("--focus needs a --plant");
  const gateways = values.gateways === undefined ? undefined : whole("gateways", values.gateways);
  if (gateways !== undefined && gateways > GATEWAYS_MAX)
    throw new WrongOption(`--gateways ${gateways}; at most ${GATEWAYS_MAX}`);
  if (gateways !== undefined && gateways > 1 && kind === "embedded")
    throw new WrongOption("--gateways: the embedded store has one gateway");
  return {
    firstSeed: whole("seed", seed ?? values.from),
    seeds: seed === undefined ? whole("seeds", values.seeds) : 1,
    // Several gateways share a store only in Redis.
    store: kind ?? (gateways !== undefined && gateways > 1 ? "redis" : undefined),
    gateways,
    calls: values.calls === undefined ? undefined : whole("calls", values.calls),
    faults: values.faults === undefined ? undefined : faultsOf(values.faults),
    plant,
    focus: values.focus,
    first: values.first,
    hash: values.hash || seed !== undefined,
    trace: values.trace,
  };
}

function valuesOf(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        seeds: { type: "string", default: "100" },
        from: { type: "string", default: "1" },
        seed: { type: "string" },
        store: { type: "string" },
        gateways: { type: "string" },
        calls: { type: "string" },
        faults: { type: "string" },
        trace: { type: "boolean", default: false },
        hash: { type: "boolean", default: false },
        plant: { type: "string" },
        focus: { type: "boolean", default: false },
        first: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    }).values;
  } catch (error) {
    throw new WrongOption(argumentProblem(error));
  }
}

function whole(name: string, text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new WrongOption(`--${name} must be a whole number above 0, not ${text}`);
}

/** Parses `kill=2000,redisCut=500`: only these faults, each with the mean time in ms between two of its kind. */
function faultsOf(text: string): Partial<Record<FaultName, number>> {
  const faults: Partial<Record<FaultName, number>> = {};
  for (const pair of text.split(",").filter((each) => each !== "")) {
    const [name = "", everyMs = String(EVERY_MS)] = pair.split("=");
    if (!isFaultName(name))
      throw new WrongOption(`no fault ${name}; there are ${namesOf(FAULTS).join(", ")}`);
    faults[name] = whole("faults", everyMs);
  }
  return faults;
}

const described = (faults: Readonly<Partial<Record<FaultName, string>>>) =>
  namesOf(faults)
    .map((name) => `  ${name.padEnd(NAME_COLUMN)}${faults[name]}`)
    .join("\n");

export const HELP = `npm run simulate -- [options]: runs simulated worlds; exits 1 if a seed ends in a violation

  --seeds N               how many seeds (100)
  --from S                the first seed (1)
  --seed S                one seed; prints its hash
  --trace                 prints every turn
  --hash                  prints the hash of every seed: the same on every Node
  --store STORE           ${STORES.join(" or ")}; otherwise the seed decides
  --gateways N            on Redis, at most ${GATEWAYS_MAX}; otherwise the seed decides: 1 to 3
  --calls N               otherwise the seed decides: 200 to 399
  --faults NAME=MS,…      only these faults, each with the mean time between two of its kind (${EVERY_MS});
                          "" for none; otherwise the seed decides
  --first                 stops at the first violation
  --plant NAME            plants a bug into the code of this run
  --focus                 with the store and the faults that reveal this bug soon

faults with every store:
${described({ ...EVERYWHERE, ...LATER })}

faults with Redis:
${described({ ...REDIS, ...LATER_REDIS })}

faults with a cluster:
${described(CLUSTER)}

plants:
${Object.keys(PLANTS)
  .map((name) => `  ${name}`)
  .join("\n")}`;
