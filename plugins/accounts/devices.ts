import type { PlainRequest, Services } from "../../core/plugin/index.ts";
import { hashOf, newToken } from "../sign-in-parts/secret.ts";
import { cookieOf, tokenIn } from "./cookie.ts";
import { NO_ACCOUNT } from "./credentials.ts";

const DAY_MS = 86_400_000;
const VALID_DAYS = 365;
/** Maximum devices of one account. A new one replaces the one that was not used for the longest time. */
const DEVICES_MAX = 20;

/**
 * Remembers the browsers in which an account has signed in. Each has a random cookie; the database has a hash of it for
 * each account, so that a browser which several people use is known for all of them.
 */
export class Devices {
  constructor(
    private readonly database: Services["database"],
    private readonly clock: Services["clock"],
  ) {}

  /** Returns the name of the device if the account has signed in with it; undefined if not. */
  async known(
    request: PlainRequest,
    accountId: string | undefined,
    isSecure: boolean,
  ): Promise<string | undefined> {
    const token = tokenIn(request.headers["cookie"], isSecure, "device");
    if (token === undefined) return undefined;
    const hash = hashFor(token, accountId ?? NO_ACCOUNT);
    const found = await this.database.query(
      "update account_devices set seen_at = $2 where token_hash = $1 and seen_at > $3 returning token_hash",
      [hash, this.at(0), this.at(VALID_DAYS)],
    );
    return found.length > 0 ? hash.toString("base64url") : undefined;
  }

  /** Returns true if the account has signed in from a browser before. */
  async isUsed(accountId: string): Promise<boolean> {
    const found = await this.database.query(
      "select from account_devices where account_id = $1 limit 1",
      [accountId],
    );
    return found.length > 0;
  }

  /** Remembers this browser, and returns its `set-cookie` header. */
  async remember(request: PlainRequest, accountId: string, isSecure: boolean): Promise<string> {
    const token = tokenIn(request.headers["cookie"], isSecure, "device") ?? newToken();
    await this.database.query(
      `with replaced as (
        delete from account_devices where token_hash in (
          select token_hash from account_devices where account_id = $2 and token_hash <> $1
          order by seen_at desc offset ${DEVICES_MAX - 1}
        )
      )
      insert into account_devices (token_hash, account_id, seen_at) values ($1, $2, $3)
      on conflict (token_hash) do update set seen_at = $3`,
      [hashFor(token, accountId), accountId, this.at(0)],
    );
    return cookieOf(token, (VALID_DAYS * DAY_MS) / 1000, isSecure, "device");
  }

  /** Deletes devices that are not valid any more. */
  async sweep(): Promise<void> {
    await this.database.query("delete from account_devices where seen_at <= $1", [
      this.at(VALID_DAYS),
    ]);
  }

  private at(daysAgo: number): Date {
    return new Date(this.clock.now() - daysAgo * DAY_MS);
  }
}

function hashFor(token: string, accountId: string): Buffer {
  return hashOf(`${token} ${accountId}`);
}
