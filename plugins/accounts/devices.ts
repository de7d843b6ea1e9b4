import type { PlainRequest, Services } from "../../core/plugin/index.ts";
import { hashOf, newToken } from "../sign-in-parts/secret.ts";
import { cookieOf, DEVICE_TOKENS_MAX, deviceTokensIn } from "./cookie.ts";
import { NO_ACCOUNT } from "./credentials.ts";

const DAY_MS = 86_400_000;
const VALID_DAYS = 365;
/** Maximum devices of one account. A new one replaces the one that was not used for the longest time. */
const DEVICES_MAX = 20;

/**
 * Remembers the browsers in which an account has signed in. Each sign-in from a new one makes a token, so that a token which
 * another person has put there opens nothing. The cookie keeps the newest few, for the accounts that share the browser.
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
    const tokens = deviceTokensIn(request.headers["cookie"], isSecure);
    if (tokens.length === 0) return undefined;
    const [found] = await this.database.query<{ token_hash: Buffer }>(
      `update account_devices set seen_at = $3
      where token_hash in (select decode(hash, 'hex') from json_array_elements_text($1::text::json) as hash)
        and account_id = $2 and seen_at > $4 returning token_hash`,
      [
        JSON.stringify(tokens.map((token) => hashOf(token).toString("hex"))),
        ...[accountId ?? NO_ACCOUNT, this.at(0), this.at(VALID_DAYS)],
      ],
    );
    return found?.token_hash.toString("base64url");
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
    const before = deviceTokensIn(request.headers["cookie"], isSecure);
    const token = newToken();
    await this.database.query(
      `with replaced as (
        delete from account_devices where token_hash in (
          select token_hash from account_devices where account_id = $2
          order by seen_at desc offset ${DEVICES_MAX - 1}
        )
      )
      insert into account_devices (token_hash, account_id, seen_at) values ($1, $2, $3)`,
      [hashOf(token), accountId, this.at(0)],
    );
    const kept = [token, ...before].slice(0, DEVICE_TOKENS_MAX).join(".");
    return cookieOf(kept, (VALID_DAYS * DAY_MS) / 1000, isSecure, "device");
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
