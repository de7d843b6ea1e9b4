import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packageRoot } from "../../core/process/root.ts";
import { Watchdog } from "./watchdog.ts";

/** A built checkout of the gateway. */
export interface Build {
  /** The folder with its `package.json`. */
  readonly root: string;
  /** Deletes it, if it was made for the test. That happens also if the test is killed. */
  remove(): Promise<void>;
}

const LEDGER = "core/database/migrations";
/** The folders of migrations that the next version adds a file to, with its text. */
const MIGRATIONS: readonly (readonly [string, string])[] = [
  [
    LEDGER,
    `alter table usage_records add column next_field text;
     create table next_counts (account_id uuid primary key, calls bigint not null);
     create function count_next() returns trigger language plpgsql as $$
     begin
       insert into next_counts as counts values (new.account_id, 1)
       on conflict (account_id) do update set calls = counts.calls + 1;
       return new;
     end $$;
     create trigger count_next after insert on usage_records for each row execute function count_next();`,
  ],
  ["core/usage/page-indexes", "create index on usage_records (account_id, next_field);"],
  ["plugins/metrics/migrations", "create table metrics_next (id integer primary key);"],
];

const ENTRY = "dist/core/money/entry.js";
const DEBIT = "dist/core/money/debit.js";
const VERSION = "dist/core/money/outbox-entry.js";
const POST = "core/money/redis/lua/post.lua";
/** The other changes: file, text, and its replacement. */
const EDITS: readonly (readonly [string, string, string])[] = [
  // Entries have another version and one more field. The version before is still read.
  [VERSION, "const ENTRY_VERSION = 1;", "const ENTRY_VERSION = 2;"],
  [ENTRY, "v.literal(ENTRY_VERSION)", "v.picklist([1, ENTRY_VERSION])"],
  [DEBIT, "v.literal(ENTRY_VERSION)", "v.picklist([1, ENTRY_VERSION])"],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of a file
  [ENTRY, '`{"v":${ENTRY_VERSION}`', '`{"v":${ENTRY_VERSION},"next_field":"next"`'],
  // One more field beside each entry in Redis, and so another script.
  [POST, "'o', off)", "'o', off, 'n', '1')"],
];

/**
 * Makes the next version out of this one: with the changes that a version may make, so that a test
 * rolls this version to that one and back.
 */
export function makeNextVersion(): Build {
  const root = mkdtempSync(join(tmpdir(), "tollgate-next-"));
  const watchdog = new Watchdog(root);
  for (const folder of ["core", "plugins", "config", "dist/core", "dist/plugins"]) {
    mkdirSync(join(root, folder, ".."), { recursive: true });
    cpSync(join(packageRoot, folder), join(root, folder), {
      recursive: true,
      filter: (path) => !/\.(?:d\.ts|map|png)$/.test(path),
    });
  }
  cpSync(join(packageRoot, "package.json"), join(root, "package.json"));
  symlinkSync(join(packageRoot, "node_modules"), join(root, "node_modules"));
  for (const [file, text, replacement] of EDITS) edit(join(root, file), text, replacement);
  for (const [folder, text] of MIGRATIONS) append(join(root, folder), text);
  return { root, remove: () => watchdog.stop() };
}

function edit(file: string, text: string, replacement: string): void {
  const source = readFileSync(file, "utf8");
  if (source.split(text).length !== 2) throw new Error(`${file} does not have once: ${text}`);
  writeFileSync(
    file,
    source.replace(text, () => replacement),
  );
}

/** Adds a migration that works with the version before it. */
function append(folder: string, text: string): void {
  const last = readdirSync(folder)
    .filter((name) => name.endsWith(".sql"))
    .sort()
    .at(-1);
  if (last === undefined) throw new Error(`${folder} has no migration`);
  const number = String(Number(last.slice(0, 4)) + 1).padStart(4, "0");
  const head = `-- works with: ${last.slice(0, -".sql".length)}\n`;
  writeFileSync(join(folder, `${number}-next.sql`), head + text);
}
