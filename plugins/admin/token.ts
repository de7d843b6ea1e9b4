import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { chmod, link, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Refusal } from "../../core/refusal.ts";
import type { Services } from "../../core/services.ts";

const FILE = "admin-token";
const RANDOM_BYTES = 32;
const USABLE = /^[\x21-\x7e]{16,512}$/;

/**
 * What the admin API asks its callers for: the token of the config, or a random one that only the owner of
 * the data folder can read.
 */
export class AdminToken {
  private readonly services: Services;
  private ofFile: Promise<string> | undefined;

  constructor(services: Services) {
    this.services = services;
  }

  /** Makes the token file where one is needed; rejects where the file cannot be used. */
  async prepare(): Promise<void> {
    await this.expected();
  }

  /** Undefined where the `authorization` header holds the token. */
  async check(authorization: string | undefined): Promise<Refusal | undefined> {
    const given = /^bearer +(\S+) *$/i.exec(authorization ?? "")?.[1];
    if (given === undefined)
      return denied("Send the admin token: `Authorization: Bearer <token>`.");
    // Digests have one length, so that the time of the comparison tells nothing of the token.
    const isRight = timingSafeEqual(sha256(given), sha256(await this.expected()));
    return isRight ? undefined : denied("The admin token is wrong.");
  }

  /** The config may change by a reload, so it is asked every time. */
  private async expected(): Promise<string> {
    const { admin, stores } = this.services.config;
    if (admin.token !== undefined) return admin.token;
    // The commands send this one where it is set, so a config that does not name it means it too.
    const shared = process.env["GATEWAY_ADMIN_TOKEN"];
    if (shared !== undefined && USABLE.test(shared)) return shared;
    this.ofFile ??= tokenIn(stores.data);
    try {
      return await this.ofFile;
    } catch (error) {
      this.ofFile = undefined;
      throw error;
    }
  }
}

/** The token in the data folder, made where there is none. */
async function tokenIn(folder: string): Promise<string> {
  const file = join(folder, FILE);
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
  const token = (await readFile(file, "utf8")).trim();
  if (USABLE.test(token)) return token;
  throw new Error(`${file} holds no usable token: delete it, and the next start makes a new one`);
}

function isExisting(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "EEXIST";
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

function denied(message: string): Refusal {
  const advice = "It is admin.token of the config, or else in the data folder, in admin-token.";
  return new Refusal(401, "authentication_error", `${message} ${advice}`, {
    headers: ["www-authenticate", "Bearer"],
  });
}
