import { isIP } from "node:net";
import { isObject, parseJson } from "../process/json.ts";
import { isPublicHost } from "../process/public-address.ts";
import { ServerEvent } from "../sse/reader.ts";
import { encodeLines } from "../sse/writer.ts";

const MASK = "***";
/** Minimum length of a hidden text: shorter ones are no secrets, and would be found in words. */
const HIDDEN_CHARACTERS_MIN = 6;
/** Ids of an operator's account at a provider: `org-…`, `proj_…`. Codes such as `org_limit` have no digit or capital. */
const ACCOUNT_IDS = /\b(?:org|proj|acct)[-_](?=[a-z]*[A-Z0-9])[A-Za-z0-9]{6,}/g;
/** An address, with or without its scheme: a host name or IP with dots, or one with a port. */
const ADDRESSES =
  /(?:https?:\/\/)?(?:\[[0-9a-f:]+\]|[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*)(?::\d{1,5})?(?:\/[^\s"'<>)]*)?/gi;

/**
 * Replaces the parts of an upstream's error that reveal something of the operator: the configured keys and addresses,
 * ids of accounts, and hosts of private networks. Providers quote them, and the error goes to a customer.
 */
export function masked(text: string, hidden: readonly string[]): string {
  const parsed = parseJson(text);
  // Masks the parsed values, because JSON may write a slash as `\/`.
  if (isObject(parsed) || Array.isArray(parsed)) {
    const clean = JSON.stringify(parsed, (_, value: unknown) =>
      typeof value === "string" ? maskedText(value, hidden) : value,
    );
    return clean === JSON.stringify(parsed) ? text : clean;
  }
  return maskedText(text, hidden);
}

/** Masks an upstream's error event. Returns the same event if nothing in it is hidden. */
export function maskedEvent(event: ServerEvent, hidden: readonly string[]): ServerEvent {
  const clean = masked(event.data, hidden);
  if (clean === event.data) return event;
  return new ServerEvent(Buffer.from(encodeLines(event.type, clean)), event.kind);
}

function maskedText(text: string, hidden: readonly string[]): string {
  let clean = text;
  for (const one of hidden) {
    if (one.length >= HIDDEN_CHARACTERS_MIN) clean = clean.replaceAll(one, MASK);
  }
  return clean
    .replace(ACCOUNT_IDS, MASK)
    .replace(ADDRESSES, (address) => (isOwn(address) ? MASK : address));
}

/** Returns true for an address in a private network. */
function isOwn(address: string): boolean {
  const [host = ""] = address.replace(/^https?:\/\//i, "").split("/");
  const name = host.replace(/:\d+$/, "").replace(/^\[|\]$/g, "");
  if (isIP(name) !== 0 || name.includes(".")) return !isPublicHost(name);
  const hasScheme = /^https?:/i.test(address);
  // A plain word counts as an address only if it has a scheme, or a port of a size that no line number has.
  return hasScheme || (/[a-z]/i.test(name) && /:\d{4,5}$/.test(host));
}
