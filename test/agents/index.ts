import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { positiveOption, wholeOption } from "../../bench/number-options.ts";
import { parseArguments, refuseArguments } from "../../core/process/command-line.ts";
import { admin } from "../support/admin.ts";
import { SHIPPED_CATALOGUE } from "../support/catalogue.ts";
import { startGateway } from "../support/gateway.ts";
import { newerNode } from "../support/newer-node.ts";
import { AGENTS } from "./agents.ts";
import { type Cell, runCell } from "./cell.ts";
import type { Client } from "./client.ts";
import { runDemo } from "./demo.ts";
import { install } from "./install.ts";
import { LIBRARIES } from "./libraries.ts";
import { failures, table, unknowns } from "./report.ts";
import { startWatch } from "./watch.ts";

const CLIENTS = [...AGENTS, ...LIBRARIES];

/** A model of each family of the catalogue, the strictest that there is. */
const MODELS = [
  ...["claude-opus-5-5", "gpt-5.6-sol", "gemini-3.5-flash", "grok-4.5", "deepseek-v4-pro"],
  ...["qwen3.7-max", "kimi-k2.7-code", "glm-5.2", "MiniMax-M3", "svc/mistral-large-3-675b"],
];

const HELP = `npm run agents -- [options]: runs agents and libraries on a model of each family;
exits 1 if one fails, or if the books disagree

  --clients NAMES   parts of names with commas between them (default: all)
  --models NAMES    models with commas between them (default: ${MODELS.length} families)
  --into FOLDER     installs there, and keeps it (default: a temporary folder)
  --at-once N       cells (2)
  --seconds S       most for a cell (180)
  --save FILE       writes the table there as well

Clients: ${CLIENTS.map(({ name }) => name).join("; ")}`;

async function main(): Promise<number> {
  const { values } = parseArguments(HELP, {
    options: {
      clients: { type: "string", default: "" },
      models: { type: "string", default: MODELS.join() },
      into: { type: "string" },
      "at-once": { type: "string", default: "2" },
      seconds: { type: "string", default: "180" },
      save: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  const parts = values.clients.toLowerCase().split(",");
  const clients = CLIENTS.filter(({ name }) =>
    parts.some((part) => name.toLowerCase().includes(part)),
  );
  if (clients.length === 0) refuseArguments(HELP, `there is no client ${values.clients}`);
  const timeoutMs = positiveOption(HELP, "seconds", values.seconds) * 1_000;
  const lanes = wholeOption(HELP, "at-once", values["at-once"]);
  const models = values.models.split(",");
  const folder = mkdtempSync(join(tmpdir(), "tollgate-agents-"));
  const into = resolve(values.into ?? folder);
  mkdirSync(into, { recursive: true });
  const node = nodeOfClients();
  const gateway = await startGateway({
    ledger: "embedded",
    config: { catalogue: SHIPPED_CATALOGUE },
  });
  const watch = await startWatch(gateway.url);
  const stage = { gateway, watch, node, folder, timeoutMs };
  const cells: Cell[] = [];
  const work: (() => Promise<Cell>)[] = [];
  const versions = new Map<string, string>();
  try {
    for (const client of clients) {
      const made = await install(client, into, node);
      versions.set(client.name, "installed" in made ? made.versions : "");
      if (client === AGENTS[0] && "installed" in made) {
        const around = { installed: made.installed, node, folder, timeoutMs };
        for (const cell of await runDemo(around)) {
          cells.push(cell);
          console.log(line(cell));
        }
      }
      for (const model of models) {
        work.push(
          "installed" in made
            ? () => runCell(stage, client, model, made.installed)
            : async () => notInstalled(client, model, made.failure),
        );
      }
    }
    const run = async () => {
      for (let next = work.shift(); next; next = work.shift()) {
        const cell = await next();
        cells.push(cell);
        console.log(line(cell));
      }
    };
    await Promise.all(Array.from({ length: lanes }, run));
    const { body } = await admin(gateway, "GET", "/reconcile");
    const made = table(versions, models, cells);
    console.log(`\n${made}\n\n${failures(cells)}\n${unknowns(watch)}`);
    const drift = body["drift"] !== false;
    console.log(drift ? `the books disagree: ${JSON.stringify(body)}` : "the books agree");
    if (values.save !== undefined) writeFileSync(values.save, `${made}\n`);
    return drift || cells.some(({ result }) => result === "failed") ? 1 : 0;
  } finally {
    watch.close();
    await gateway.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** This Node, or the newer one among the dependencies: some clients need Node 22. */
function nodeOfClients(): string {
  const isNew = Number(process.versions.node.split(".")[0]) >= 22;
  return isNew || !existsSync(newerNode) ? process.execPath : newerNode;
}

function notInstalled({ name: client }: Client, model: string, error: string): Cell {
  const none = { calls: 0, refused: 0, costVnd: "0", seconds: 0 };
  return { client, model, result: "not installed", ...none, error };
}

function line({ client, model, result, calls, refused, seconds, error }: Cell): string {
  const counts = `${calls} calls, ${refused} refused, ${seconds.toFixed(0)} s`;
  return `${client} on ${model}: ${result} (${counts})${error && `\n    ${error}`}`;
}

process.exit(await main());
