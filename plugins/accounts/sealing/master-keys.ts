import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Config, secretFile } from "../../../core/plugin/index.ts";
import type { MasterKeyOptions } from "../options.ts";

const FILE = "master-key";
const KEY_BYTES = 32;

/** A key that seals API keys. */
export interface MasterKey {
  readonly id: string;
  readonly key: Buffer;
  /** Of the file in the data folder: true if this start has made it. */
  readonly isNew?: boolean;
}

/**
 * Returns the master keys of the options, in their order. Without any, returns one from the data folder if the ledger is
 * embedded. With a shared ledger it returns none: other gateways could not unseal what this one sealed.
 */
export async function masterKeysOf(
  { ledger, data }: Config["stores"],
  options: MasterKeyOptions | undefined,
): Promise<MasterKey[]> {
  if (!options) return ledger === "embedded" ? [await masterKeyIn(data)] : [];
  return options.map(({ id, key }) => ({ id, key: Buffer.from(key, "base64") }));
}

const KEY = {
  create: () => randomBytes(KEY_BYTES).toString("base64"),
  isUsable: (text: string) => Buffer.from(text, "base64").length === KEY_BYTES,
  advice: "restore it, or delete it and lose the keys that it encrypted",
};

/** Reads the master key from a file in the data folder with mode 600; creates it if it is missing. */
async function masterKeyIn(folder: string): Promise<MasterKey> {
  const file = join(folder, FILE);
  const isNew = !existsSync(file);
  return { id: "file", key: Buffer.from(await secretFile(file, KEY), "base64"), isNew };
}
