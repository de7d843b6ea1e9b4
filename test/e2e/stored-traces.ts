import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { connect, type Sql } from "../../core/database/client.ts";
import { codeOf } from "../../core/process/thrown.ts";
import { recordedLog } from "../support/log.ts";
import type { RedisServer } from "../support/redis.ts";

/**
 * Every form in which a mark of letters may be stored: as it is, in lower case, in hexadecimal, and
 * in base64 at any offset of the encoded text.
 */
export function writings(mark: string): string[] {
  const bytes = Buffer.from(mark);
  const shifted = [0, 1, 2].map((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString("base64");
    // Drops the characters that also depend on the text around the mark.
    return encoded.slice(before === 0 ? 0 : 4, -4);
  });
  return [mark, mark.toLowerCase(), bytes.toString("hex"), ...shifted];
}

/** Every file below a folder that contains one of the texts, and the text. */
export function tracesInFiles(folder: string, texts: readonly string[]): string[] {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return files.flatMap((file) => {
    const bytes = contents(join(folder, file));
    return texts.filter((text) => bytes?.includes(text)).map((text) => `${file}: ${text}`);
  });
}

/** Undefined for a folder, a socket, and a file that a running database has removed since. */
function contents(path: string): Buffer | undefined {
  try {
    return statSync(path).isFile() ? readFileSync(path) : undefined;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Every table of a database with a row that contains one of the texts in any column. */
export async function tracesInTables(sql: Sql, texts: readonly string[]): Promise<string[]> {
  const tables = await sql.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
    where schemaname not in ('pg_catalog', 'information_schema')`,
  );
  const found: string[] = [];
  for (const { name } of tables) {
    for (const { text } of await sql.query<{ text: string }>(
      `select row_to_json(t)::text as text from ${name} t`,
    )) {
      for (const sought of texts) if (text.includes(sought)) found.push(`${name}: ${text}`);
    }
  }
  return found;
}

export async function withPostgres<T>(url: string, work: (sql: Sql) => Promise<T>): Promise<T> {
  const { log } = recordedLog();
  const sql = connect({ server: { url }, connectionsMax: 1, statementTimeoutMs: 0, log });
  try {
    return await work(sql);
  } finally {
    await sql.end(1);
  }
}

const READERS: Readonly<Record<string, readonly string[]>> = {
  string: ["GET"],
  hash: ["HGETALL"],
  set: ["SMEMBERS"],
  list: ["LRANGE", "0", "-1"],
  zset: ["ZRANGE", "0", "-1"],
  stream: ["XRANGE", "-", "+"],
};

/** Every key of a Redis whose name or value contains one of the texts. */
export async function tracesInRedis(
  redis: RedisServer,
  texts: readonly string[],
): Promise<string[]> {
  const keys = (await redis.call("KEYS", "*")) as string[];
  const found: string[] = [];
  for (const key of keys) {
    const type = String(await redis.call("TYPE", key));
    const [command, ...range] = READERS[type] ?? [];
    if (command === undefined) throw new Error(`${key} is a ${type}, which has no reader here`);
    const value = await redis.call(command, key, ...range);
    const text = `${key} ${JSON.stringify(value instanceof Map ? [...value] : value)}`;
    for (const sought of texts) if (text.includes(sought)) found.push(`${key}: ${sought}`);
  }
  return found;
}
