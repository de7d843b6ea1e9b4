import { randomBytes } from "node:crypto";
import { chmod, link, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { codeOf } from "./thrown.ts";

const RANDOM_BYTES = 32;
export const SECRET_CHARACTERS_MIN = 16;
/** Minimum length of the admin token if other machines can reach its routes: they could guess a shorter one. */
export const PUBLIC_TOKEN_CHARACTERS_MIN = 32;
/** The form of a usable secret: it fits into a header, and is too long to guess. */
export const USABLE_SECRET = new RegExp(`^[\\x21-\\x7e]{${SECRET_CHARACTERS_MIN},512}$`);

export interface SecretKind {
  create(): string;
  isUsable(secret: string): boolean;
  /** Tells the operator what to do about a file without a usable secret. */
  readonly advice: string;
}

const TOKEN: SecretKind = {
  create: () => randomBytes(RANDOM_BYTES).toString("base64url"),
  isUsable: (secret) => USABLE_SECRET.test(secret),
  advice: "delete it, and the next start creates a new one",
};

/**
 * Returns the secret in a file that only its owner can read; creates the file if it is missing, so that it is the same
 * at every start and for every process of the folder. Rejects if the file cannot be read or holds no usable secret.
 */
export async function secretFile(file: string, kind: SecretKind = TOKEN): Promise<string> {
  const own = await writeOwn(file, kind.create());
  try {
    // `link` is atomic and never replaces a file that another process has created.
    await link(own, file);
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  } finally {
    await rm(own, { force: true });
  }
  await chmod(file, 0o600);
  const secret = (await readFile(file, "utf8")).trim();
  if (kind.isUsable(secret)) return secret;
  throw new Error(`${file} has no usable secret; ${kind.advice}`);
}

/** Returns the secret in a file; undefined if there is no file. */
export async function readSecret(file: string): Promise<string | undefined> {
  try {
    return (await readFile(file, "utf8")).trim();
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Writes a secret to a file that only its owner can read; replaces an old file atomically. */
export async function replaceSecret(file: string, secret: string): Promise<void> {
  await rename(await writeOwn(file, secret), file);
}

/**
 * Writes the secret to a file of a random name beside the other one: this process may run the same function twice at
 * once.
 */
async function writeOwn(file: string, secret: string): Promise<string> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const own = `${file}.${randomBytes(8).toString("hex")}`;
  await writeFile(own, `${secret}\n`, { mode: 0o600 });
  return own;
}
