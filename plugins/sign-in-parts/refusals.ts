import { type Refusal, refuse } from "../../core/plugin/index.ts";

export function codeRequired(): Refusal {
  const message = "Send `code` too: a code from your authenticator app, or a recovery code.";
  return refuse.unauthenticated(message, { code: "second_factor_required", param: "code" });
}

export function wrongCode(): Refusal {
  const message = "The code is wrong or was used before; wait for the next one.";
  return refuse.forbidden(message, { code: "wrong_code", param: "code" });
}

export function noSealer(): Refusal {
  const message = "A second factor needs master_keys in the options of the plugin accounts.";
  return refuse.conflict(message, { code: "second_factor_unavailable" });
}

/** Returns the refusal for a full queue of passwords or of mails. */
export function busy(): Refusal {
  const message = "The server is busy; try again in a few seconds.";
  return refuse.unavailable(message, { code: "busy", headers: ["retry-after", "5"] });
}
