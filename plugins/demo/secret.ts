import { randomBytes } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

/** Returns the secret in a file; undefined if there is no file. */
export async function readSecret(file: string): Promise<string | undefined> {
  try {
    return (await readFile(file, "utf8")).trim();
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

/** Writes a secret to a file that only its owner can read; replaces an old file atomically. */
export async function replaceSecret(file: string, secret: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const own = `${file}.${randomBytes(8).toString("hex")}`;
  await writeFile(own, `${secret}\n`, { mode: 0o600 });
  await rename(own, file);
}
