import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, sep } from "node:path";
import t from "tap";
import { packageRoot } from "../../core/process/root.ts";

/** The SQL of a file, without comments. */
interface SqlText {
  readonly file: string;
  readonly text: string;
}

const CORE_MIGRATIONS = "core/database/migrations/";
const FOREIGN_KEY = /\breferences\s+accounts\b(?:\s*\(\s*id\s*\))?/gi;
/** Matches words that occur together only in SQL, not in a path or a sentence with "accounts". */
const SQL =
  /\b(?:select\b[\s\S]*\bfrom|select\s+[a-z_]+\(|insert\s+into|update\s+\w+(?:\s+\w+)?\s+set|delete\s+from|truncate\s|lock\s+table|(?:alter|create|drop)\s+(?:table|index|view|trigger)|(?:from|join|where)\s+\w+)\b/i;

/** Tables that each room's statements may name. */
const OWNERS: Readonly<Record<string, readonly string[]>> = {
  // Wallets too: one statement creates an account with its wallet, and a key is read with its
  // wallet's credits. Accounts are sought by their money and budgets.
  "core/accounts/": ["accounts", "api_keys", "key_macs", "operator_actions", "wallets", "purses"],
  "core/money/": [
    ...["wallets", "ledger_entries", "usage_records", "usage_daily", "quarantine"],
    ...["purses", "balances_owner"],
    ...["ledger_proof", "proven_wallets", "proven_purses"],
    "archived_months",
    ...["ledger_writers", "ledger_generations"],
    ...["hold_epochs", "hold_members"],
    "ledger_identity",
  ],
  // It reads the records, the movements, which months have left, and which keys a member uses, beside its own sums.
  "core/usage/": [
    ...["ledger_entries", "usage_records", "archived_months", "usage_daily"],
    ...["refused_calls", "last_refused_calls"],
    ...["wallets", "purses", "api_keys"],
  ],
};

const tables = tablesOf(sqlFiles(CORE_MIGRATIONS));

t.test("SQL", async (t) => {
  t.test("is found, and core's tables are", async (t) => {
    for (const table of ["accounts", "api_keys", "wallets", "ledger_entries", "usage_daily"]) {
      t.ok(tables.includes(table), table);
    }
    t.ok(sqlFiles("plugins/").length > 3);
    t.ok(literalsOf("plugins/").length > 20);
    for (const [text, expected] of [
      ["select 1 from account_sessions s join accounts a on true", ["accounts"]],
      ["select 1 from own o, wallets", ["wallets"]],
      ['update "api_keys" set name = 1', ["api_keys"]],
      ["create index more on usage_records (at)", ["usage_records"]],
      ["account_id uuid references accounts (id), wallets bigint", []],
      ["call_id uuid references usage_records (call_id)", ["usage_records"]],
    ] as const) {
      t.strictSame(named({ file: "planted.ts", text }, tables), expected, text);
    }
  });

  t.test("of a folder's migrations has one number a file, without a gap", async (t) => {
    const files = [...sqlFiles("core/"), ...sqlFiles("plugins/")].map(({ file }) => file);
    const folders = new Map<string, string[]>();
    for (const file of files.sort()) {
      const [folder, name] = [dirname(file), basename(file)];
      folders.set(folder, [...(folders.get(folder) ?? []), name.slice(0, 4)]);
    }
    t.ok(folders.size > 4, [...folders.keys()].join(" "));
    for (const [folder, numbers] of folders) {
      const expected = numbers.map((_, at) => String(at + 1).padStart(4, "0"));
      t.strictSame(numbers, expected, folder);
    }
  });

  t.test("of plugins names no table of core, except in foreign keys to accounts", async (t) => {
    const statements = [...sqlFiles("plugins/"), ...literalsOf("plugins/")];
    const wrong = statements.flatMap((statement) =>
      named(statement, tables).map((table) => `${statement.file}: ${table}`),
    );
    t.strictSame([...new Set(wrong)], []);
  });

  for (const [room, own] of Object.entries(OWNERS)) {
    t.test(`of ${room} names only its own tables`, async (t) => {
      const others = tables.filter((table) => !own.includes(table));
      const wrong = literalsOf(room).flatMap((statement) =>
        named(statement, others).map((table) => `${statement.file}: ${table}`),
      );
      t.strictSame([...new Set(wrong)], []);
    });
  }

  t.test("on core's tables is in these rooms only", async (t) => {
    const elsewhere = literalsOf("core/").filter(
      ({ file }) => !Object.keys(OWNERS).some((room) => file.startsWith(room)),
    );
    const wrong = elsewhere.flatMap((statement) =>
      named(statement, tables).map((table) => `${statement.file}: ${table}`),
    );
    t.strictSame([...new Set(wrong)], []);
  });
});

function filesIn(folder: string, end: string): SqlText[] {
  return readdirSync(join(packageRoot, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(end))
    .map((file) => ({
      file: `${folder}${file.split(sep).join("/")}`,
      text: readFileSync(join(packageRoot, folder, file), "utf8"),
    }));
}

function sqlFiles(folder: string): SqlText[] {
  return filesIn(folder, ".sql").map(({ file, text }) => ({
    file,
    text: text.replace(/--[^\n]*/g, ""),
  }));
}

/**
 * Strings and templates in TypeScript that look like SQL. Templates may nest, so it also returns
 * every word after a keyword that names a table.
 */
function literalsOf(folder: string): SqlText[] {
  return filesIn(folder, ".ts").flatMap(({ file, text }) => {
    const code = text.replace(/\/\*[\s\S]*?\*\/|(?<=^|[\s;,{(])\/\/[^\n]*/g, "");
    const literals = code.match(/"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g) ?? [];
    const phrases = code.match(
      /\b(?:from|join|into|update|truncate|table|only)\s+"?\w+"?(?!["\w])/gi,
    );
    return [...literals.filter((literal) => SQL.test(literal)), ...(phrases ?? [])].map(
      (found) => ({
        file,
        text: found,
      }),
    );
  });
}

/**
 * The tables that a statement names as tables, in the order of `all`; a column may have the same
 * name.
 */
function named({ text }: SqlText, all: readonly string[]): string[] {
  const statement = text.replace(FOREIGN_KEY, "");
  const before =
    '\\b(?:(?:from|join|into|update|table|truncate|only|on|references|lock)\\s+|from\\s+(?:[\\w"]+(?:\\s+\\w+)*\\s*,\\s*)+)';
  return all.filter((table) =>
    new RegExp(`${before}(?:public\\.)?"?${table}"?(?![\\w/-])`, "i").test(statement),
  );
}

function tablesOf(migrations: readonly SqlText[]): string[] {
  return migrations.flatMap(({ text }) =>
    Array.from(text.matchAll(/\bcreate\s+table\s+(?:if\s+not\s+exists\s+)?(\w+)/gi), ([, name]) =>
      String(name),
    ).filter((name) => name !== "if"),
  );
}
