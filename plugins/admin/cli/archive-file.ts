import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { open, rename } from "node:fs/promises";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import { isObject, messageOf, parseJson } from "../../../core/plugin/index.ts";
import { EXIT, Failure } from "./failure.ts";

/** The contents of a file of an archive, as read from the file itself. */
export interface ArchiveFile {
  readonly rows: number;
  /** The sum of the first 52 bits of the SHA-256 of each line, in decimal. */
  readonly digest: string;
  /** Of the compressed file, in hexadecimal. */
  readonly sha256: string;
  /** The sum of `charged` of all records, in µđ. */
  readonly sum_micro_vnd: string;
  readonly accounts: number;
  /** SHA-256 of a line for each account, in the order of their ids: id, rows, sum in µđ. */
  readonly accounts_sha256: string;
  /** The ids of the first and the last call. */
  readonly first: string | null;
  readonly last: string | null;
}

/** Writes lines into a compressed file, which has its name only once it is complete and on the disk. */
export async function writeLines(path: string, lines: AsyncIterable<string>): Promise<void> {
  const part = `${path}.part`;
  async function* texts() {
    for await (const line of lines) yield `${line}\n`;
  }
  await pipeline(Readable.from(texts()), createGzip(), createWriteStream(part));
  const file = await open(part, "r+");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(part, path);
}

/** Reads the lines of a compressed file. `onBytes` gets the file's own bytes. */
export async function* readLines(
  path: string,
  onBytes: (bytes: Buffer) => void = () => {},
): AsyncGenerator<string> {
  const counted = new Transform({
    transform(bytes: Buffer, _encoding, done) {
      onBytes(bytes);
      done(null, bytes);
    },
  });
  const unpacked = createGunzip().setEncoding("utf8");
  const reading = pipeline(createReadStream(path), counted, unpacked);
  // Its error also ends the lines; it is thrown below.
  reading.catch(() => {});
  try {
    yield* linesOf(unpacked);
    await reading;
  } catch (error) {
    throw new Failure(EXIT.refused, `cannot read ${path}: ${messageOf(error)}`);
  }
}

/** Ends lines at `\n` alone. `readline` of Node 24 also does at U+2028, which a customer's text may have (nodejs/node#57591). */
async function* linesOf(texts: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = "";
  for await (const text of texts) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  if (rest !== "") yield rest;
}

/** Reads a whole file back, and adds it up. */
export async function addUpFile(path: string): Promise<ArchiveFile> {
  const hash = createHash("sha256");
  const sums = new Map<string, { rows: number; sum: bigint }>();
  let [rows, digest, total] = [0, 0n, 0n];
  let [first, last]: [string | null, string | null] = [null, null];
  for await (const line of readLines(path, (bytes) => hash.update(bytes))) {
    const row = rowIn(line, path);
    const amount = BigInt(String(row["charged"]));
    const account = String(row["account_id"]);
    const known = sums.get(account) ?? { rows: 0, sum: 0n };
    sums.set(account, { rows: known.rows + 1, sum: known.sum + amount });
    rows += 1;
    digest += digestOf(line);
    total += amount;
    last = String(row["call_id"]);
    first ??= last;
  }
  const accounts = createHash("sha256");
  for (const [account, one] of [...sums].sort(([a], [b]) => (a < b ? -1 : 1))) {
    accounts.update(`${account} ${one.rows} ${one.sum}\n`);
  }
  return {
    rows,
    digest: String(digest),
    sha256: hash.digest("hex"),
    sum_micro_vnd: String(total),
    accounts: sums.size,
    accounts_sha256: accounts.digest("hex"),
    first,
    last,
  };
}

/** Throws a Failure if the line is not a row. */
export function rowIn(line: string, path: string): Record<string, unknown> {
  const row = parseJson(line);
  if (isObject(row)) return row;
  throw new Failure(EXIT.refused, `cannot read ${path}: a line is not a row: ${line.slice(0, 80)}`);
}

/** Returns the first 52 bits of the SHA-256 of a line: `add_up_month` in the ledger computes the same. */
function digestOf(line: string): bigint {
  const bytes = createHash("sha256").update(line).digest();
  return bytes.readBigUInt64BE(0) >> 12n;
}
