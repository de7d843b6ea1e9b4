import { hostsOverlap, isEverywhere, isLoopback } from "../plugin/public-host.ts";
import { objectOf } from "../process/json.ts";
import { TOKEN_RULE } from "../process/secret-file.ts";
import type { Problems } from "./problem.ts";
import { admin, limits, listen, stores } from "./schema.ts";
import type { Source } from "./source.ts";
import { attempt } from "./validate.ts";

const CHARACTERS_MIN = TOKEN_RULE.charactersMin(true);

/** Checks settings that depend on each other. Skips those that are invalid by themselves. */
export function reviewSettings(
  written: Readonly<Record<string, unknown>>,
  source: Source,
  problems: Problems,
): void {
  const address = attempt(listen, written["listen"]);
  const workers = address?.workers ?? 1;
  const backends = attempt(stores, written["stores"]);
  const embedded = [
    ...(backends?.hot === "embedded" ? ["stores.hot"] : []),
    ...(backends?.ledger === "embedded" ? ["stores.ledger"] : []),
  ];
  if (workers > 1 && embedded.length > 0) {
    problems.add(
      source,
      ["listen", "workers"],
      "expected 1, since only one process can use an embedded store; for more workers, " +
        `set ${embedded.join(" and ")} to a URL`,
    );
  }

  for (const [at, server] of [backends?.hot ?? []].flat().entries()) {
    if (server === "embedded" || /^\/?\d*$/.test(new URL(server).pathname)) continue;
    const path = Array.isArray(backends?.hot) ? ["stores", "hot", at] : ["stores", "hot"];
    problems.add(source, path, "expected no path but the number of a database, such as /1");
  }

  const times = attempt(limits, written["limits"]);
  if (times && times.receiving_mb < times.body_mb) {
    problems.add(
      source,
      ["limits", "receiving_mb"],
      "expected at least body_mb, got a smaller number",
    );
  }
  if (times && times.unread_mb < times.reply_mb) {
    problems.add(
      source,
      ["limits", "unread_mb"],
      "expected at least reply_mb, got a smaller number",
    );
  }
  for (const name of ["first_byte_seconds", "idle_seconds"] as const) {
    if (times === undefined || (times[name] ?? 0) <= times.call_seconds) continue;
    problems.add(source, ["limits", name], "expected at most call_seconds, got a larger number");
  }

  const operators = attempt(admin, written["admin"]);
  if (address && operators) reviewAdmin(address, operators, source, problems);

  if (address) reviewLoops(address, written, source, problems);
}

interface Address {
  readonly host: string;
  readonly port: number;
}

interface Operators {
  readonly token?: string | undefined;
  readonly listen?: Address | undefined;
}

function reviewAdmin(
  address: Address,
  { token, listen: own }: Operators,
  source: Source,
  problems: Problems,
): void {
  if (own && own.port === address.port && hostsOverlap(own.host, address.host)) {
    const message = "expected another port than listen.port";
    problems.add(source, ["admin", "listen", "port"], message);
  }
  if (token === undefined || token.length >= CHARACTERS_MIN) return;
  if (isLoopback((own ?? address).host)) return;
  const where = own ? "admin.listen.host" : "listen.host";
  problems.add(
    source,
    ["admin", "token"],
    `expected at least ${CHARACTERS_MIN} characters, since other machines can reach ${where}`,
  );
}

/** Refuses upstreams that lead back to this gateway: each call would call itself until all connections are used. */
function reviewLoops(
  { host, port }: { host: string; port: number },
  written: Readonly<Record<string, unknown>>,
  source: Source,
  problems: Problems,
): void {
  for (const [name, upstream] of Object.entries(objectOf(written["upstreams"]) ?? {})) {
    const protocols = objectOf(objectOf(upstream)?.["protocols"]) ?? {};
    for (const [protocol, given] of Object.entries(protocols)) {
      if (typeof given !== "string" || !URL.canParse(given)) continue;
      const url = new URL(given);
      const target = url.hostname.replace(/^\[|\]$/g, "");
      const portOfUrl = Number(url.port || (url.protocol === "https:" ? 443 : 80));
      if (portOfUrl !== port || !isSameHost(target, host)) continue;
      problems.add(
        source,
        ["upstreams", name, "protocols", protocol],
        "expected an address other than where this gateway listens",
      );
    }
  }
}

/** A gateway that listens on all addresses also listens on loopback. */
function isSameHost(target: string, host: string): boolean {
  if (target === host) return true;
  return isLoopback(target) && (isEverywhere(host) || isLoopback(host));
}
