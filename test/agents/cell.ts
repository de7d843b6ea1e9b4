import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type AdminTarget, committedWallet, createCustomer, usage } from "../support/admin.ts";
import type { TestGateway } from "../support/gateway.ts";
import { type Client, COMPACTS_AT_TOKENS } from "./client.ts";
import { runProgram } from "./run-program.ts";
import type { Watch } from "./watch.ts";

const CREDIT_VND = 1_000_000;
const MICRO = 1_000_000n;
/** More than the limit at which a client compacts. */
const FULL_CONTEXT_TOKENS = 2 * COMPACTS_AT_TOKENS;

/** The task of a client: its prompt, the text that its files have beside their lines, and the least calls that it takes. */
interface Task {
  readonly prompt: string;
  readonly texts: { readonly notes: string; readonly list: string };
  readonly calls: number;
}

const CORRECTION = ["teh second line", "the second line"] as const;

/** The result of running a client with a model. */
export interface Cell {
  readonly client: string;
  readonly model: string;
  readonly result: "done" | "failed" | "not installed";
  /** Calls that succeeded, and what they cost. */
  readonly calls: number;
  /** Calls with an error, among them those that the client repeated. */
  readonly refused: number;
  readonly costVnd: string;
  readonly seconds: number;
  /** Why it failed. */
  readonly error: string;
}

/** A place to run clients in. */
export interface Stage {
  readonly gateway: TestGateway;
  /** Stands before the gateway. */
  readonly watch: Watch;
  readonly node: string;
  readonly folder: string;
  readonly timeoutMs: number;
}

/** Runs a task with a client on a model. */
export async function runCell(
  stage: Stage,
  client: Client,
  model: string,
  installed: string,
): Promise<Cell> {
  const { gateway, watch, node, timeoutMs } = stage;
  const customer = await createCustomer(gateway, { creditVnd: CREDIT_VND });
  watch.expect(customer.key, client.name);
  const folder = mkdtempSync(join(stage.folder, "task-"));
  const notes = join(folder, "notes.txt");
  const { prompt, texts, calls } = (client.compacts ? compactingTask : plainTask)(client, folder);
  const before = `the first line\nteh second line\n${texts.notes}`;
  writeFileSync(notes, before);
  writeFileSync(join(folder, "list.txt"), `one\ntwo\n${texts.list}`);
  const around = { url: watch.url, key: customer.key, model, prompt, installed, folder, node };
  const { file, args, env = {}, files = {} } = client.command(around);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const started = Date.now();
  // Some clients take the working folder from PWD.
  const home = {
    HOME: folder,
    PWD: folder,
    XDG_CONFIG_HOME: "",
    XDG_DATA_HOME: "",
    XDG_CACHE_HOME: "",
  };
  const path = `${dirname(node)}:${process.env["PATH"]}`;
  const ending = await runProgram({
    ...{ file, args, folder, timeoutMs },
    env: { ...home, CI: "1", NO_COLOR: "1", PATH: path, ...env },
  });
  const seconds = (Date.now() - started) / 1_000;
  const edited = readFileSync(notes, "utf8") === before.replace("teh", "the");
  // A process that the client has left running may still write there.
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });
  const books = await booksOf(gateway, customer.accountId, CREDIT_VND);
  const why =
    books.error ??
    (ending.code !== 0
      ? `exit ${ending.code}: ${lastWords(ending.output)}`
      : !edited
        ? `the file is not edited: ${lastWords(ending.output)}`
        : books.calls < calls
          ? `${books.calls} calls only`
          : undefined);
  return {
    ...{ client: client.name, model, result: why === undefined ? "done" : "failed" },
    ...{ calls: books.calls, refused: books.refused, costVnd: books.costVnd },
    ...{ seconds, error: why ?? "" },
  };
}

/** Two files read at once, one edited, then a text. */
function plainTask({ tools: { read, replace } }: Client, folder: string): Task {
  const [notes, list] = [join(folder, "notes.txt"), join(folder, "list.txt")];
  const steps = [[read(notes), read(list)], [replace(notes, ...CORRECTION)]];
  return { prompt: promptOf(notes, steps), texts: { notes: "", list: "" }, calls: 3 };
}

/**
 * The same, one file after the other. The first one has the provider report a full context, and the second says what
 * the summary is: only from there the model learns of the edit, so it has read the summary if the file is edited.
 */
function compactingTask({ tools: { read, replace } }: Client, folder: string): Task {
  const [notes, list] = [join(folder, "notes.txt"), join(folder, "list.txt")];
  const text = `Both files are read. [[steps ${JSON.stringify([[replace(notes, ...CORRECTION)]])}]]`;
  return {
    prompt: promptOf(notes, [[read(notes)], [read(list)]]),
    texts: {
      notes: `[[sim ${JSON.stringify({ input_tokens: FULL_CONTEXT_TOKENS })}]]\n`,
      list: `[[sim ${JSON.stringify({ text })}]]\n`,
    },
    calls: 5,
  };
}

function promptOf(notes: string, steps: readonly unknown[]): string {
  return `Correct the spelling in ${notes}. [[steps ${JSON.stringify(steps)}]]`;
}

/** Compares the wallet of an account that got this credit with the records of its calls. */
export async function booksOf(gateway: AdminTarget, accountId: string, creditVnd: number) {
  const { balance } = await committedWallet(gateway, accountId);
  const records = await usage(gateway, accountId);
  const charged = records.reduce((sum, { cost_vnd }) => sum + microVnd(String(cost_vnd)), 0n);
  const spent = BigInt(creditVnd) * MICRO - microVnd(balance);
  const good = records.filter(({ status }) => Number(status) < 400);
  const costly = records.some(({ status, cost_vnd }) => Number(status) >= 400 && cost_vnd !== "0");
  return {
    calls: good.length,
    refused: records.length - good.length,
    costVnd: balanceOf(spent),
    error:
      charged !== spent
        ? `the wallet lost ${spent} µđ, its calls cost ${charged} µđ`
        : costly
          ? "a refused call has a cost"
          : undefined,
  };
}

/** Reads a decimal string of đ. */
function microVnd(vnd: string): bigint {
  const [whole = "0", part = ""] = vnd.split(".");
  return BigInt(whole) * MICRO + BigInt(part.padEnd(6, "0"));
}

function balanceOf(micro: bigint): string {
  return (Number(micro) / Number(MICRO)).toFixed(2);
}

/** Returns the last lines of an output that are not empty, as one line. */
export function lastWords(output: string): string {
  const lines = output.split("\n").map((line) => line.trim());
  const telling = lines.filter((line) => /error|refus|invalid|4\d\d|5\d\d/i.test(line));
  const chosen = telling.length > 0 ? telling : lines.filter((line) => line !== "");
  return chosen.slice(-3).join(" ").slice(-400);
}
