import { createHash, timingSafeEqual } from "node:crypto";
import { join } from "node:path";
import {
  type Refusal,
  refuse,
  type Services,
  secretFile,
  USABLE_SECRET,
} from "../../core/contract/index.ts";

const FILE = "admin-token";

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
    if (shared !== undefined && USABLE_SECRET.test(shared)) return shared;
    this.ofFile ??= secretFile(join(stores.data, FILE));
    try {
      return await this.ofFile;
    } catch (error) {
      this.ofFile = undefined;
      throw error;
    }
  }
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

function denied(message: string): Refusal {
  const advice = "It is admin.token of the config, or else in the data folder, in admin-token.";
  return refuse.unauthenticated(`${message} ${advice}`, {
    headers: ["www-authenticate", "Bearer"],
  });
}
