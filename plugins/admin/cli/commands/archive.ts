import { access, constants, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import {
  arrayOf,
  isObject,
  messageOf,
  objectOf,
  parseJson,
} from "../../../../core/plugin/index.ts";
import { type ArchiveFile, addUpFile, readLines, rowIn, writeLines } from "../archive-file.ts";
import type { Client } from "../client.ts";
import { type Command, encoded, given, value } from "../command.ts";
import { EXIT, Failure } from "../failure.ts";

const SHOWN_EVERY_ROWS = 100_000;
const MANIFEST = ".manifest.json";
const MANIFEST_OPTION = {
  value: "MANIFEST",
  about: "what archive export has written",
  example: `/var/archive/tollgate-2026-05${MANIFEST}`,
};

/** A table of an export, as its manifest has it. */
interface FileEntry extends ArchiveFile {
  /** The table in the ledger. */
  readonly name: string;
  /** The file's name, in the folder of the manifest. */
  readonly file: string;
}

export const archiveCommands: readonly Command[] = [
  {
    words: "archive list",
    required: [],
    optional: [],
    about: "list the months of usage records: rows, bytes, state, and whether each can be archived",
    run: async (client) => value(await client.get("/archive")),
  },
  {
    words: "archive export",
    required: ["month", "to"],
    optional: [],
    options: { to: { value: "FOLDER", about: "the folder of its file", example: "/var/archive" } },
    about:
      "move the usage records of an old month into a file: export them, read them back, and take them out of the ledger; " +
      "charges stay. The month must be older than stores.months_kept. Their table stays until archive drop. Can be stopped and run again",
    run: async (client, { month = "", to = "" }) => value(await exportMonth(client, month, to)),
  },
  {
    words: "archive drop",
    required: ["month", "file"],
    optional: [],
    options: { file: MANIFEST_OPTION },
    about: "delete the records of an exported month, after its file is verified once more",
    run: async (client, { month = "", file = "" }) => {
      const verified = await verify(client, file);
      if (verified.month !== month) {
        throw new Failure(EXIT.usage, `${file} is of ${verified.month}, not of ${month}`);
      }
      return value(await client.post(`/archive/${encoded(month)}/drop`, {}));
    },
  },
  {
    words: "archive reopen",
    required: ["month"],
    optional: [],
    about: "give up an export that was stopped: the month takes late calls again",
    run: async (client, { month }) =>
      value(await client.post(`/archive/${encoded(month)}/reopen`, {})),
  },
  {
    words: "archive verify",
    required: ["file"],
    optional: [],
    options: { file: MANIFEST_OPTION },
    about:
      "read the files of an export again; exit 1 if they differ from the manifest or the ledger",
    run: async (client, { file = "" }) => value(await verify(client, file)),
  },
  {
    words: "archive read",
    required: ["file"],
    optional: ["account"],
    options: {
      file: {
        value: "FILE.jsonl.gz",
        about: "a file of an export",
        example: "/var/archive/FILE.jsonl.gz",
      },
    },
    about: "print the rows of a file of an export; all, or those of an account",
    run: async (_client, { file = "", account }) => ({
      kind: "list",
      items: rowsOf(file, account),
    }),
  },
];

async function* rowsOf(path: string, account: string | undefined): AsyncGenerator<unknown> {
  for await (const line of readLines(path)) {
    const row = rowIn(line, path);
    if (account === undefined || row["account_id"] === account) yield row;
  }
}

/** Each step does nothing if it is done already, so a stopped export is run again. */
async function exportMonth(client: Client, month: string, folder: string): Promise<unknown> {
  const path = `/archive/${encoded(month)}`;
  // First: a month that is closed takes no late calls.
  try {
    await mkdir(folder, { recursive: true });
    await access(folder, constants.W_OK);
  } catch (error) {
    throw new Failure(EXIT.refused, `cannot write to ${folder}: ${messageOf(error)}`);
  }
  await client.post(`${path}/close`, {});
  const status = objectOf(await client.get(path)) ?? {};
  if (status["state"] !== "closed") {
    throw new Failure(
      EXIT.refused,
      `${month} is ${status["state"]} already; archive verify reads its files again`,
    );
  }
  await addUpLedger(client, path, month);
  const tables: FileEntry[] = [];
  for (const table of arrayOf(status["tables"])) {
    const name = String(objectOf(table)?.["name"]);
    const file = `tollgate-${month}.${name}.jsonl.gz`;
    await writeLines(join(folder, file), linesOf(client, path, name));
    console.error(`${file}: written, now read back`);
    tables.push({ name, file, ...(await addUpFile(join(folder, file))) });
  }
  const manifest = { version: 1, month, exported_at: new Date().toISOString(), tables };
  const place = join(folder, `tollgate-${month}${MANIFEST}`);
  await writeFile(`${place}.part`, `${JSON.stringify(manifest, null, 2)}\n`, { flush: true });
  await rename(`${place}.part`, place);
  await client.post(`${path}/detach`, manifest);
  return { month, state: "detached", manifest: place, tables };
}

async function* linesOf(client: Client, path: string, table: string): AsyncGenerator<string> {
  let [rows, after]: [number, string | undefined] = [0, undefined];
  for (;;) {
    const page = objectOf(await client.get(`${path}/lines`, { table, ...given({ after }) }));
    const lines = arrayOf(page?.["lines"]).map(String);
    yield* lines;
    const last = lines.at(-1);
    if (last === undefined) return;
    after = keyOf(last);
    const before = rows;
    rows += lines.length;
    if (Math.floor(before / SHOWN_EVERY_ROWS) < Math.floor(rows / SHOWN_EVERY_ROWS)) {
      console.error(`${table}: exported ${rows} rows`);
    }
  }
}

/** Returns what the next page begins after: the columns that order the rows. */
function keyOf(line: string): string {
  const { at, call_id } = objectOf(parseJson(line)) ?? {};
  return JSON.stringify({ at, call_id });
}

/** Lets the ledger add up its rows itself, to compare them with the files. */
async function addUpLedger(client: Client, path: string, month: string): Promise<void> {
  for (let rows = 0; ; ) {
    const added = Number(objectOf(await client.get(`${path}/sums`))?.["rows"] ?? 0);
    if (added === 0) return;
    rows += added;
    console.error(`${month}: the ledger has added up ${rows} rows`);
  }
}

/** Reads the files of a manifest again. Throws a Failure that names the first difference. */
async function verify(client: Client, path: string) {
  const manifest = await readManifest(path);
  const status = objectOf(await client.get(`/archive/${encoded(manifest.month)}`));
  const known = arrayOf(status?.["tables"]).map((table) => objectOf(table) ?? {});
  for (const { name, file, ...expected } of manifest.tables) {
    const found: object = await addUpFile(join(dirname(path), file));
    for (const [field, given] of Object.entries(found)) {
      const wanted = expected[field as keyof ArchiveFile];
      if (wanted === given) continue;
      throw new Failure(EXIT.refused, `${file}: ${field} is ${given}, in the manifest ${wanted}`);
    }
    const table = known.find((each) => each["name"] === name);
    if (table?.["rows"] !== expected.rows || table["digest"] !== expected.digest) {
      throw new Failure(
        EXIT.refused,
        `${file}: its rows do not match those that the ledger archived`,
      );
    }
    console.error(`${file}: ${expected.rows} rows, as in the manifest and in the ledger`);
  }
  if (known.length !== manifest.tables.length) {
    throw new Failure(EXIT.refused, `${path} has not all tables of ${manifest.month}`);
  }
  return { month: manifest.month, state: status?.["state"], verified: true };
}

async function readManifest(path: string) {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    throw new Failure(EXIT.usage, `cannot read ${path}: ${messageOf(error)}`);
  });
  const manifest = parseJson(text);
  if (!isObject(manifest) || manifest["version"] !== 1 || !Array.isArray(manifest["tables"])) {
    throw new Failure(EXIT.usage, `${path} is no manifest; it ends with ${MANIFEST}`);
  }
  return manifest as { readonly month: string; readonly tables: readonly FileEntry[] };
}
