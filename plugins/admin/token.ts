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
 * The token that the admin API requires: from the config, else GATEWAY_ADMIN_TOKEN, else a random one in a file of the
 * data folder with mode 600.
 */
export class AdminToken {
  private readonly services: Services;
  private ofFile: Promise<string> | undefined;

  constructor(services: Services) {
    this.services = services;
  }

  /** Creates the token file if it is needed. Rejects if the file cannot be read or written. */
  async prepare(): Promise<void> {
    await this.expected();
  }

  /** Returns undefined if the `authorization` header has the token, or else a refusal. */
  async check(authorization: string | undefined): Promise<Refusal | undefined> {
    const given = /^bearer +(\S+) *$/i.exec(authorization ?? "")?.[1];
    if (given === undefined)
      return denied("Send the admin token: `Authorization: Bearer <token>`.");
    // `timingSafeEqual` needs equal lengths, which digests have.
    const isRight = timingSafeEqual(sha256(given), sha256(await this.expected()));
    return isRight ? undefined : denied("The admin token is wrong.");
  }

  /** Reads the config at every request, since a reload may change it. */
  private async expected(): Promise<string> {
    const { admin, stores } = this.services.config;
    if (admin.token !== undefined) return admin.token;
    // The command line sends this variable if it is set, so it also counts if the config does not name it.
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
  const advice =
    "It is admin.token in the config, or else the file admin-token in the data folder.";
  return refuse.unauthenticated(`${message} ${advice}`, {
    headers: ["www-authenticate", "Bearer"],
  });
}
