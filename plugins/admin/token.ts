import { createHash, timingSafeEqual } from "node:crypto";
import { join } from "node:path";
import {
  type Config,
  type Fault,
  isLoopback,
  type OperatorRoute,
  type PlainRequest,
  type Refusal,
  refuse,
  type Services,
  secretFile,
  ThrottledLog,
  TOKEN_RULE,
} from "../../core/plugin/index.ts";

const FILE = "admin-token";
const VARIABLE = "GATEWAY_ADMIN_TOKEN";
/** Limit for wrong tokens from one address: this many at once, then this many a minute. */
const WRONG_AT_ONCE = 30;
const WRONG_PER_MINUTE = 60;
const BLOCKED_MAX = 10_000;
/** The audit trail names the token by the first characters of its SHA-256, which do not reveal it. */
const FINGERPRINT_CHARACTERS = 12;

type Operator = Parameters<OperatorRoute["handle"]>[1];

/** Says what is wrong with a token that only the environment has: the config does not name it, so nothing else checks it. */
export function reviewToken({ admin, listen }: Config): readonly Fault[] {
  const token = process.env[VARIABLE];
  if (admin.token !== undefined || !token) return [];
  const isPublic = !isLoopback((admin.listen ?? listen).host);
  if (TOKEN_RULE.allows(token, isPublic)) return [];
  const least = TOKEN_RULE.charactersMin(isPublic);
  const why = isPublic ? ", since other machines can reach the admin API" : "";
  const message = `expected ${VARIABLE} to have at least ${least} characters, at most 512, without spaces${why}`;
  return [{ path: [], message }];
}

/**
 * The token that the admin API requires: from the config, else GATEWAY_ADMIN_TOKEN, else a random one in a file of the
 * data folder with mode 600.
 */
export class AdminToken {
  private readonly log: ThrottledLog;
  private ofFile: Promise<string> | undefined;
  /** The time until which an address is blocked, by address, on the monotonic clock. */
  private readonly blocked = new Map<string, number>();

  constructor(private readonly services: Services) {
    this.log = new ThrottledLog(services.log);
  }

  /** Creates the token file if it is needed. Rejects if the file cannot be read or written. */
  async prepare(): Promise<void> {
    await this.expected();
  }

  /** Returns whose token the `authorization` header has, or else a refusal. */
  async check(request: PlainRequest): Promise<Operator | Refusal> {
    const given = /^bearer +(\S+) *$/i.exec(request.headers["authorization"] ?? "")?.[1];
    if (given === undefined)
      return denied("Send the admin token: `Authorization: Bearer <token>`.");
    const address = request.addressBlock;
    const waitS = await this.waitS(address);
    if (waitS > 0) return tooMany(waitS);
    // `timingSafeEqual` needs equal lengths, which digests have.
    const digest = sha256(given);
    if (timingSafeEqual(digest, sha256(await this.expected()))) {
      const name = digest.toString("hex").slice(0, FINGERPRINT_CHARACTERS);
      return { name, role: "owner", person: "admin token" };
    }
    const operator = await this.services.operators.current.ofToken(given);
    if (operator) return operator;
    await this.count(address);
    this.log.warn({ address, path: request.path }, "a wrong admin token was sent");
    return denied("The token is wrong, or the session of it has ended: sign in again.");
  }

  /** Returns how long this address has to wait before its next try; 0 if it may try now. */
  private waitS(address: string): number {
    const until = this.blocked.get(address);
    if (until === undefined) return 0;
    const waitMs = until - this.services.clock.monotonic();
    if (waitMs > 0) return Math.ceil(waitMs / 1000);
    this.blocked.delete(address);
    return 0;
  }

  /** Counts a wrong token. Right ones are not counted, so commands are never throttled. */
  private async count(address: string): Promise<void> {
    const { rateLimiter, clock } = this.services;
    const rate = await rateLimiter.takeCall(`admin:${address}`, WRONG_PER_MINUTE, WRONG_AT_ONCE);
    if (rate.allowed) return;
    this.log.warn({ address }, "an address sends wrong admin tokens; it has to wait");
    if (this.blocked.size >= BLOCKED_MAX) this.blocked.clear();
    this.blocked.set(address, clock.monotonic() + rate.retryMs);
  }

  /** Reads the config at every request, since a reload may change it. */
  private async expected(): Promise<string> {
    const { admin, stores } = this.services.config;
    if (admin.token !== undefined) return admin.token;
    // The command line sends this variable if it is set, so it also counts if the config does not name it.
    const shared = process.env[VARIABLE];
    if (shared !== undefined && TOKEN_RULE.allows(shared)) return shared;
    this.ofFile ??= secretFile(join(stores.data, FILE));
    try {
      return await this.ofFile;
    } catch (error) {
      this.ofFile = undefined;
      throw error;
    }
  }
}

function tooMany(waitS: number): Refusal {
  return refuse.rateLimited(`Too many wrong admin tokens; try again in ${waitS} seconds.`, {
    headers: ["retry-after", String(waitS)],
  });
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
