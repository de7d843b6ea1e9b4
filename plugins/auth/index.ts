import {
  accountSuspended,
  type Call,
  type Plugin,
  type Refusal,
  refuse,
  type Services,
  ThrottledLog,
  type Verdict,
} from "../../core/plugin/index.ts";

type CallerKey = NonNullable<Call["key"]>;

export const sets = ["key"];

const KEY_CHARACTERS_MAX = 512;

/** Refuses calls without a valid API key that its limits let call, before their body is read; sets `call.key`. */
export default function auth({ clock, keys, log }: Services): Plugin {
  const throttledLog = new ThrottledLog(log);

  return {
    name: "auth",

    admit(call) {
      const [secret, other] = keysIn(call.headers);
      if (secret === undefined) {
        return denied(
          "An API key is required. Send it as `x-api-key: <key>` or `Authorization: Bearer <key>`.",
        );
      }
      const found = keys.find(secret);
      // Without an await: most keys are cached, and then the call continues in this turn.
      if (!(found instanceof Promise) && (isActive(found) || other === undefined)) {
        return check(found);
      }
      return either(found, other).then(check, (error: unknown) => {
        throttledLog.warn(
          { err: error, call_id: call.id },
          "cannot look up a key; the call gets 503",
        );
        return refuse.unavailable("The API key cannot be checked right now; try again shortly.");
      });

      function check(key: CallerKey | undefined): Verdict {
        // One message for unknown and revoked keys, so that the reply reveals nothing about a key.
        if (!isActive(key)) {
          call.refusedKey = key;
          return denied("The API key is invalid or revoked; check it or create a new one.");
        }
        if (key.accountStatus !== "active") {
          call.refusedKey = key;
          return accountSuspended();
        }
        const refusal = key.limits?.refusal(clock.now(), call);
        if (refusal) call.refusedKey = key;
        else call.key = key;
        return refusal;
      }
    },
  };

  /** Returns the first key if it is active. Otherwise returns the key of the other header if that is known. */
  async function either(
    first: CallerKey | undefined | Promise<CallerKey | undefined>,
    other: string | undefined,
  ): Promise<CallerKey | undefined> {
    const key = await first;
    if (isActive(key) || other === undefined) return key;
    return (await keys.find(other)) ?? key;
  }
}

function isActive(key: CallerKey | undefined): key is CallerKey {
  return key?.status === "active";
}

/**
 * Returns the secrets of both headers, `x-api-key` first. Many clients are configured with a dummy in one header and
 * the key in the other, or send one of them empty.
 */
function keysIn(headers: Readonly<Record<string, string>>): string[] {
  const secrets: string[] = [];
  for (const key of [headers["x-api-key"], bearer(headers["authorization"])]) {
    if (!key || key.length > KEY_CHARACTERS_MAX || secrets.includes(key)) continue;
    secrets.push(key);
  }
  return secrets;
}

function bearer(header: string | undefined): string | undefined {
  if (header === undefined || header.length < 8) return undefined;
  return header.slice(0, 7).toLowerCase() === "bearer " ? header.slice(7).trim() : undefined;
}

function denied(message: string): Refusal {
  return refuse.unauthenticated(message, { code: "invalid_api_key" });
}
