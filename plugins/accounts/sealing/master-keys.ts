import { randomBytes } from "node:crypto";
import { chmod, link, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "../../../core/contract/index.ts";
import type { MasterKeyOptions } from "../options.ts";

const FILE = "master-key";
const KEY_BYTES = 32;

/** A key that keys are sealed by. */
export interface MasterKey {
  readonly id: string;
  readonly key: Buffer;
}

/**
 * The master keys of the options, in their order; without any, one in the data folder if the ledger is there
 * too. Beside a ledger that gateways share there is none: what one sealed, the others could not open.
 */
export async function masterKeysOf(
  { ledger, data }: Config["stores"],
  options: MasterKeyOptions | undefined,
): Promise<MasterKey[]> {
  if (!options) return ledger === "embedded" ? [await masterKeyIn(data)] : [];
  return options.map(({ id, key }) => ({ id, key: Buffer.from(key, "base64") }));
}

/** A random master key in the data folder, which only its owner can read; made where there is none. */
async function masterKeyIn(folder: string): Promise<MasterKey> {
  const file = join(folder, FILE);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const mine = `${file}.${process.pid}`;
  await writeFile(mine, `${randomBytes(KEY_BYTES).toString("base64")}\n`, { mode: 0o600 });
  try {
    // A link is there whole or not at all, and never replaces what another process has made.
    await link(mine, file);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  } finally {
    await rm(mine, { force: true });
  }
  await chmod(file, 0o600);
  const key = Buffer.from((await readFile(file, "utf8")).trim(), "base64");
  if (key.length === KEY_BYTES) return { id: "file", key };
  throw new Error(`${file} holds no master key: restore it, or delete it and lose what it sealed`);
}
