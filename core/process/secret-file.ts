import { randomBytes } from "node:crypto";
import { chmod, link, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { codeOf } from "./thrown.ts";

const RANDOM_BYTES = 32;

/** The rule for secrets that clients send: they fit into a header, and are too long to guess. */
export const TOKEN_RULE = {
  /** Minimum length; more if other machines can reach what the token opens. */
  charactersMin: (isPublic: boolean) => (isPublic ? 32 : 16),
  allows: (token: string, isPublic = false) =>
    /^[\x21-\x7e]{16,512}$/.test(token) && token.length >= TOKEN_RULE.charactersMin(isPublic),
} as const;

export interface SecretKind {
  create(): string;
  isUsable(secret: string): boolean;
  /** Tells the operator what to do about a file without a usable secret. */
  readonly advice: string;
}

const TOKEN: SecretKind = {
  create: () => randomBytes(RANDOM_BYTES).toString("base64url"),
  isUsable: (secret) => TOKEN_RULE.allows(secret),
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

/** To a file of a random name: this process may run the same function twice at once. */
async function writeOwn(file: string, secret: string): Promise<string> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const own = `${file}.${randomBytes(8).toString("hex")}`;
  await writeFile(own, `${secret}\n`, { mode: 0o600 });
  return own;
}
