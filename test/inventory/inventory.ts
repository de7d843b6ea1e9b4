import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import { Gateway } from "../../core/boot/gateway.ts";
import { formatProblems, loadConfig } from "../../core/config/load.ts";
import type { Route } from "../../core/plugin/router.ts";
import type { Command as PluginCommand } from "../../core/plugin/services.ts";
import { createLog } from "../../core/process/log.ts";
import { packageRoot } from "../../core/process/root.ts";
import { commands } from "../../plugins/admin/cli/commands.ts";
import { startSimulator } from "../../plugins/simulator/server.ts";
import { type AdminTarget, admin, createCustomer } from "../support/admin.ts";
import { type CallPath, prompt } from "../support/ask.ts";
import { filesBelow } from "../support/files.ts";
import { testConfig, writeConfig } from "../support/gateway-config.ts";
import { migratedDatabase, type TestPostgres } from "../support/postgres.ts";

/** The file that lists the inventory. */
export const INVENTORY = join(packageRoot, "test", "inventory", "inventory.txt");

const ADMIN_TOKEN = "token-of-the-inventory";
/** Switched off in the config that `npm start` runs. */
const SWITCHED_ON = { traces: { endpoint: "http://127.0.0.1:9" } };

/**
 * Lists what the product offers, an item a line, sorted: alerts, commands, headers, metrics, plugins, programs and
 * routes. `config/schema.json` lists the settings. Asks a gateway that runs with every plugin. Needs the Postgres of a
 * run.
 */
export async function inventory(): Promise<string> {
  const database = await migratedDatabase();
  if (!database) throw new Error("run it by `npm test` or `npm run inventory`: it needs Postgres");
  const folder = mkdtempSync(join(tmpdir(), "tollgate-test-"));
  const provider = await startSimulator({ host: "127.0.0.1", port: 0 });
  try {
    const items = [
      ...alerts(),
      ...programs(),
      ...plugins(),
      ...commands.flatMap((command) => [
        commandLine(command.words, [
          ...command.required.map((name) => `--${name}`),
          ...[...command.optional, ...(command.flags ?? [])].map((name) => `[--${name}]`),
        ]),
      ]),
      ...(await ofGateway(folder, database, provider.port)),
    ];
    return `${[...new Set(items)].sort().join("\n")}\n`;
  } finally {
    provider.close();
    await database.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function ofGateway(
  folder: string,
  { url: ledger }: TestPostgres,
  simulatorPort: number,
): Promise<string[]> {
  const file = join(folder, "gateway.yaml");
  const around = { port: 0, data: folder, ledger, simulatorPort, adminToken: ADMIN_TOKEN };
  writeConfig(file, testConfig({ plugins: SWITCHED_ON }, around));
  const loaded = await loadConfig(file, process.env);
  if (!loaded.ok) throw new Error(formatProblems(loaded.problems));
  const gateway = await Gateway.start(loaded.config, createLog("silent"));
  const target = { url: gateway.address, adminToken: ADMIN_TOKEN };
  try {
    return [
      ...gateway.router.all().map(routeLine),
      ...(await metrics(target)),
      ...(await pluginCommands(target)),
      ...(await headers(target)),
    ];
  } finally {
    await gateway.stop();
  }
}

function alerts(): string[] {
  const file = join(packageRoot, "config", "deploy", "prometheus-alerts.yaml");
  const { groups } = parse(readFileSync(file, "utf8")) as {
    groups: { rules: { alert: string }[] }[];
  };
  return groups.flatMap(({ rules }) => rules.map(({ alert }) => `alert ${alert}`));
}

function programs(): string[] {
  const { bin, scripts } = JSON.parse(
    readFileSync(join(packageRoot, "package.json"), "utf8"),
  ) as Record<"bin" | "scripts", Record<string, string>>;
  const names = Object.keys(scripts).filter((name) => !/^(?:pre|post)|^prepare$/.test(name));
  return [
    ...Object.keys(bin).map((name) => `program ${name}`),
    ...names.map((name) => `program npm run ${name}`),
  ];
}

function plugins(): string[] {
  const entries = readdirSync(join(packageRoot, "plugins"), { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => `plugin ${name}`);
}

/** A route with the check of its caller: the right of an operator; `own`: a check of its handler, such as of a session. */
function routeLine({ method, path, access, forOperators, right }: Route): string {
  const check = forOperators ? ["operator", ...(right ? [right] : [])].join(" ") : access;
  return `route ${path} ${method} ${check}`;
}

async function metrics({ url }: AdminTarget): Promise<string[]> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const found = text.matchAll(/^# TYPE (\S+) (\S+)$/gm);
  const own = Array.from(found).filter(([, name = ""]) => !/^(?:nodejs|process)_/.test(name));
  return own.map(([, name, type]) => `metric ${name} ${type}`);
}

async function pluginCommands(target: AdminTarget): Promise<string[]> {
  const { body } = await admin(target, "GET", "/commands");
  return (body["list"] as PluginCommand[]).map(({ words, options = [], confirms }) =>
    commandLine(words, [
      ...options.map(({ name, required }) => (required ? `--${name}` : `[--${name}]`)),
      ...(confirms ? ["[--yes]"] : []),
    ]),
  );
}

function commandLine(words: string, options: readonly string[]): string {
  return ["command", words, ...options.toSorted()].join(" ");
}

const CALLS: readonly (readonly [CallPath, object])[] = [
  [
    "/v1/messages",
    { model: "opus", max_tokens: 9, messages: [{ role: "user", content: prompt({}) }] },
  ],
  ["/v1/images/generations", { model: "req/gpt-image-2", prompt: "a" }],
  ["/v1/audio/speech", { model: "req/gpt-4o-mini-tts", input: "a", voice: "alloy" }],
  ["/v1/messages", { model: "no" }],
];

const OF_THE_LISTENER = new Set(["date", "keep-alive", "transfer-encoding", "uwebsockets"]);

/** Headers of real replies, and those that the sources name: many are for special cases. */
async function headers(target: AdminTarget): Promise<string[]> {
  const found = new Set<string>();
  const { key } = await createCustomer(target, { creditVnd: 10_000 });
  for (const [path, body] of CALLS) {
    const response = await fetch(target.url + path, {
      method: "POST",
      headers: { "x-api-key": key, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    await response.arrayBuffer();
    for (const name of response.headers.keys()) {
      if (!OF_THE_LISTENER.has(name)) found.add(`header sent ${name}`);
    }
  }
  const sources = [...filesBelow("core"), ...filesBelow("plugins")].filter(
    (file) =>
      file.endsWith(".ts") && !/^(?:core\/upstream|plugins\/simulator)\/|\/browser\//.test(file),
  );
  for (const file of sources) {
    const text = readFileSync(join(packageRoot, file), "utf8");
    for (const [, name] of text.matchAll(/headers\["([\w-]+)"\]/g))
      found.add(`header read ${name}`);
    for (const [, name] of text.matchAll(/`\$\{\w*[pP]refix\}([a-z]+(?:-[a-z]+)*)`/g)) {
      found.add(`header sent x-svc-${name}`);
    }
    for (const [, name] of text.matchAll(/(?:writeHeader|replyHeaders\.push)\(\s*"([\w-]+)"/g)) {
      found.add(`header sent ${name}`);
    }
    for (const [, name] of text.matchAll(/"(x-(?!svc-)[a-z-]+|retry-after)",/g)) {
      found.add(`header sent ${name}`);
    }
  }
  return [...found];
}
