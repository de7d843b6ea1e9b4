import {
  accountSuspended,
  type CallerKey,
  type Field,
  type Plugin,
  type Refusal,
  refuse,
  type Services,
  ThrottledLog,
  type Verdict,
} from "../../core/contract/index.ts";

export const sets: readonly Field[] = ["key"];

const KEY_CHARACTERS_MAX = 512;

/** Refuses calls without a valid API key, before their body is read; sets `call.key`. */
export default function auth({ keys, log }: Services): Plugin {
  const throttledLog = new ThrottledLog(log);

  return {
    name: "auth",

    admit(call) {
      const secret = keyIn(call.headers);
      if (secret === undefined) {
        return denied(
          "An API key is required. Send it as `x-api-key: <key>` or `Authorization: Bearer <key>`.",
        );
      }
      const found = keys.find(secret);
      if (!(found instanceof Promise)) return check(found);
      return found.then(check, (error: unknown) => {
        throttledLog.warn(
          { err: error, call_id: call.id },
          "cannot look up a key; the call gets 503",
        );
        return refuse.unavailable("The API key cannot be checked right now; try again shortly.");
      });

      function check(key: CallerKey | undefined): Verdict {
        // One message for unknown and revoked keys, so that the reply reveals nothing about a key.
        if (key === undefined || key.status !== "active") {
          return denied("The API key is invalid or revoked; check it or create a new one.");
        }
        if (key.accountStatus !== "active") {
          return accountSuspended();
        }
        call.key = key;
        return undefined;
      }
    },
  };
}

function keyIn(headers: Readonly<Record<string, string>>): string | undefined {
  // A client that is configured with one header may send the other one empty.
  const key = headers["x-api-key"] || bearer(headers["authorization"]);
  return !key || key.length > KEY_CHARACTERS_MAX ? undefined : key;
}

function bearer(header: string | undefined): string | undefined {
  if (header === undefined || header.length < 8) return undefined;
  return header.slice(0, 7).toLowerCase() === "bearer " ? header.slice(7).trim() : undefined;
}

function denied(message: string): Refusal {
  return refuse.unauthenticated(message, { code: "invalid_api_key" });
}
