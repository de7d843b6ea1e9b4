import { arrayOf, isObject, type JsonObject, objectOf } from "../../../../core/plugin/index.ts";
import type { Client } from "../client.ts";
import type { Command, Output } from "../command.ts";
import { EXIT, Failure } from "../failure.ts";
import { pluginCommands } from "../plugin-commands.ts";
import { reconciled } from "./money.ts";

/** As many as each route lists at most. */
const ROWS_MAX = 1000;

interface Finding {
  readonly problem: string;
  readonly detail: string;
  /** The command to run next, without `npm run admin --`. */
  readonly command: string;
}

interface Check {
  /** The command that shows the whole of it. */
  readonly words: string;
  run(client: Client): Promise<readonly Finding[]>;
}

const builtIn: readonly Check[] = [
  { words: "reconcile", run: async (client) => booksOf(await reconciled(client)) },
  {
    words: "quarantine list",
    run: async (client) =>
      arrayOf(await client.get("/quarantine", { limit: String(ROWS_MAX) }))
        .filter(isObject)
        .map(({ call_id: call, cost_vnd: cost, reason }) => ({
          problem: "the ledger refused a call",
          detail: `${call}, ${cost} đ: ${reason}`,
          command: `quarantine retry --call ${quoted(call)}`,
        })),
  },
  {
    words: "upstreams",
    run: async (client) =>
      arrayOf(objectOf(await client.get("/upstreams"))?.["upstreams"])
        .filter(isObject)
        .flatMap(upstreamOf),
  },
];

/** Of plugins: a gateway is checked only for those that it has. */
const ofPlugins: Readonly<Record<string, (output: unknown) => readonly Finding[]>> = {
  "transfer list": (transfers) =>
    arrayOf(transfers)
      .filter(isObject)
      .map(({ id, amount_vnd: amount, cause, content }) => ({
        problem: "a transfer has no customer",
        detail: `${amount ?? "unknown amount"} đ, ${cause}: ${content ?? "no text"}`,
        command: `transfer assign --transfer ${quoted(id)} --account EMAIL --reason TEXT`,
      })),
  servers: (servers) =>
    arrayOf(servers)
      .filter(isObject)
      .flatMap(({ host, address, differs, is_late: isLate, schema_problem: problem }) => [
        ...(isLate === true
          ? [
              {
                problem: "servers do not agree",
                detail: `${host} ${address}: another ${arrayOf(differs).join(", ")} than the one that answers`,
                command: "servers",
              },
            ]
          : []),
        ...(typeof problem === "string"
          ? [
              {
                problem: "a server would not start again with its build",
                detail: `${host} ${address}: ${problem}`,
                command: "upgrade",
              },
            ]
          : []),
      ]),
  "approval list": (approvals) =>
    arrayOf(approvals)
      .filter(isObject)
      .map(({ id, amount_vnd: amount, action, proposed_by: by, email, reason }) => ({
        problem: "money waits for a second person",
        detail: `${amount} đ, ${action}${email == null ? "" : ` of ${email}`}, asked by ${by}: ${reason ?? "no reason"}`,
        command: `approval approve --approval ${quoted(id)}`,
      })),
  maintenance: (state) =>
    objectOf(state)?.["enabled"] === true
      ? [{ problem: "maintenance is on", detail: "calls get 503", command: "maintenance off" }]
      : [],
};

/** The state of the rows of a list that wait for an operator. */
const WAITING: Readonly<Record<string, string>> = {
  "transfer list": "unmatched",
  "approval list": "pending",
};

/** The start of an operator's day: all that needs a person, on one screen, with the command for each. */
export const doctorCommand: Command = {
  words: "doctor",
  required: [],
  optional: [],
  about:
    "show what needs an operator, with the command for each: books, quarantine, upstreams and keys (as one gateway process sees " +
    "them), transfers, approvals, servers, maintenance; exit 1 if something does",
  run: async (client) => {
    const checks = [...builtIn, ...(await checksOfPlugins(client))];
    const findings: Finding[] = [];
    for (const check of checks) findings.push(...(await findingsOf(check, client)));
    const value = {
      checked: checks.map(({ words }) => words).join(", "),
      state: findings.length === 0 ? "all is well" : `needs an operator: ${findings.length}`,
      ...(findings.length > 0 && { findings }),
    };
    return { kind: "value", value, exitCode: findings.length === 0 ? EXIT.ok : EXIT.refused };
  },
};

async function checksOfPlugins(client: Client): Promise<Check[]> {
  const commands = await pluginCommands(client);
  return commands
    .filter(({ words }) => Object.hasOwn(ofPlugins, words))
    .map((command) => ({
      words: command.words,
      run: async (client) => {
        const state = WAITING[command.words];
        const limit = String(ROWS_MAX);
        const output = await command.run(client, state === undefined ? {} : { state, limit });
        return ofPlugins[command.words]?.(await readAll(output)) ?? [];
      },
    }));
}

async function readAll(output: Output): Promise<unknown> {
  if (output.kind === "value") return output.value;
  const items: unknown[] = [];
  for await (const item of output.items) items.push(item);
  return items;
}

/** A check that the gateway refuses, as without its database, is a finding: the others still run. */
async function findingsOf({ words, run }: Check, client: Client): Promise<readonly Finding[]> {
  try {
    return await run(client);
  } catch (error) {
    if (!(error instanceof Failure) || error.exitCode !== EXIT.refused) throw error;
    return [{ problem: `cannot check ${words}`, detail: error.message, command: words }];
  }
}

function booksOf(report: unknown): Finding[] {
  const { drift, rows, overdue } = objectOf(report) ?? {};
  const findings: Finding[] = [];
  if (drift !== false) {
    const detail = `${arrayOf(rows).length} wallets or purses differ from the ledger`;
    const { account_id: account } = objectOf(arrayOf(rows)[0]) ?? {};
    const command =
      account === undefined ? "reconcile --full" : `drift show --account ${quoted(account)}`;
    findings.push({ problem: "the books disagree", detail, command });
  }
  if (Number(overdue ?? 0) > 0) {
    const detail = `${overdue} holds or calls are older than a call may last`;
    findings.push({ problem: "money is stuck", detail, command: "reconcile" });
  }
  return findings;
}

function upstreamOf({ name, switched_off: off, breakers, keys }: JsonObject): Finding[] {
  const on = `upstream on --name ${quoted(name)} --reason TEXT`;
  const lastOf = (one: JsonObject) =>
    String(objectOf(one["last_failure"])?.["reason"] ?? "no failure yet");
  return [
    ...arrayOf(off).map((model) => ({
      problem: "an upstream is switched off",
      detail: `${name}, ${model}`,
      command: model === "all models" ? on : `${on} --model ${quoted(model)}`,
    })),
    ...arrayOf(breakers)
      .filter(isObject)
      .filter(({ breaker }) => breaker !== "closed")
      .map((one) => ({
        problem: "an upstream fails",
        detail: `${name}, ${one["model"] ?? "all models"}: ${lastOf(one)}`,
        command: `upstream off --name ${quoted(name)} --reason TEXT`,
      })),
    ...arrayOf(keys)
      .filter(isObject)
      .flatMap((one) => keyOf(String(name), one, lastOf(one))),
  ];
}

function keyOf(upstream: string, one: JsonObject, failure: string): Finding[] {
  const last4 = String(one["key"] ?? "").slice(1);
  const switchTo = (state: string) =>
    `upstream ${state} --name ${quoted(upstream)} --key=${quoted(last4)} --reason TEXT`;
  if (one["switched"] === "off") {
    const detail = `${upstream}, …${last4}`;
    return [{ problem: "a key is switched off", detail, command: switchTo("on") }];
  }
  if (arrayOf(one["rests"]).length === 0) return [];
  const detail = `${upstream}, …${last4}: ${failure}`;
  return [{ problem: "a key rests", detail, command: switchTo("off") }];
}

/** As a shell reads it: an id may come from a bank, and operators copy these commands. */
function quoted(word: unknown): string {
  const text = String(word);
  return /^[\w.:/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
