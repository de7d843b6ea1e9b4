import { randomBytes } from "node:crypto";
import { chmod, link, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

const RANDOM_BYTES = 32;
/** What fits into a header, and is too long to be guessed. */
export const USABLE_SECRET = /^[\x21-\x7e]{16,512}$/;

/**
 * A secret that only the owner of the data folder can read, made where there is none: for what the config
 * leaves out. Rejects where the file cannot be used.
 */
export async function secretFile(folder: string, name: string): Promise<string> {
  const file = join(folder, name);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const mine = `${file}.${process.pid}`;
  await writeFile(mine, `${randomBytes(RANDOM_BYTES).toString("base64url")}\n`, { mode: 0o600 });
  try {
    // A link is there whole or not at all, and never replaces what another process has made.
    await link(mine, file);
  } catch (error) {
    if (!isExisting(error)) throw error;
  } finally {
    await rm(mine, { force: true });
  }
  await chmod(file, 0o600);
  const secret = (await readFile(file, "utf8")).trim();
  if (USABLE_SECRET.test(secret)) return secret;
  throw new Error(`${file} holds no usable secret: delete it, and the next start makes a new one`);
}

function isExisting(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "EEXIST";
}
