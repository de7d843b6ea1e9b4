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
          "An API key is required: send it as `x-api-key: <key>` or `Authorization: Bearer <key>`.",
        );
      }
      const found = keys.find(secret);
      if (!(found instanceof Promise)) return check(found);
      return found.then(check, (error: unknown) => {
        throttledLog.warn({ err: error, call_id: call.id }, "a key could not be looked up");
        return refuse.unavailable("The key cannot be checked at the moment; try again shortly.");
      });

      function check(key: CallerKey | undefined): Verdict {
        // One message for all three, so that an answer tells nothing about a key.
        if (key === undefined || key.status !== "active") {
          return denied("The API key is not valid: it is mistyped, or it was revoked.");
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
  // Clients that are configured with one header may send the other one empty.
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
