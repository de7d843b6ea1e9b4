import { createSocket } from "node:dgram";
import { lookup } from "node:dns/promises";
import { access, chmod, constants, mkdir, stat } from "node:fs/promises";
import { connect } from "node:net";
import { readAddress } from "../database/address.ts";
import type { Grants, ServerConnections } from "../database/ping.ts";
import { ALIVE_BODY } from "../http/health.ts";
import { LIFETIMES } from "../money/lifetimes.ts";
import type { Config } from "../plugin/config.ts";
import { httpAddress, isLoopback } from "../plugin/public-host.ts";
import { codeOf, messageOf } from "../process/thrown.ts";

/** How long a store may be down at a start: long enough for stores that start at the same time. */
const PATIENCE_MS = 5_000;
const CONNECT_MS = 5_000;
/** The rights of users outside of a folder's group. */
const OTHERS = 0o007;
/** Of a folder that all users write to, each to his own files, such as /tmp. */
const SHARED = 0o1002;
const RETRY_MS = 250;
/** PgBouncer refuses parameters that it cannot keep for a client, unless it is configured to drop them. */
const POOLER_ADVICE =
  "set ignore_startup_parameters = statement_timeout in PgBouncer, and the same timeout for the role, by " +
  `alter role ROLE set statement_timeout = '${LIFETIMES.statementTimeoutMs}ms'`;

/**
 * Checks what a config names outside of itself: the data folder, the address to listen on, Redis and Postgres. Runs
 * before any of them is opened. Rejects at the first that does not work, with one sentence that names the setting.
 * Returns warnings about what works now but may fail later. Loads a store's client only if the config uses it.
 */
export async function preflight(
  config: Config,
  patienceMs = PATIENCE_MS,
): Promise<readonly string[]> {
  const warnings: string[] = [];
  for (const step of stepsOf(config, patienceMs)) warnings.push(...((await step()) ?? []));
  return warnings;
}

/**
 * Returns what `preflight` finds, all faults instead of the first, without waiting for a store that is down. Ports and
 * connections may be those of a gateway that runs: operators also check after the start.
 */
export async function reachFaults(config: Config): Promise<readonly string[]> {
  const results = await Promise.allSettled(stepsOf(config, 0, true).map((step) => step()));
  return results.flatMap((result) =>
    result.status === "rejected" ? [messageOf(result.reason)] : (result.value ?? []),
  );
}

/** One check. Resolves with its warnings. */
type Step = () => Promise<readonly string[] | void>;

function stepsOf(
  { listen, admin, stores }: Config,
  patienceMs: number,
  mayRun = false,
): readonly Step[] {
  const { hot, ledger } = stores;
  const mayShare = mayRun || listen.workers > 1;
  const steps: Step[] = [
    () => checkFolder(stores.data),
    () => checkAddress("listen", listen, mayShare),
  ];
  const operators = admin.listen;
  if (operators) steps.push(() => checkAddress("admin.listen", operators, mayShare));
  if (hot !== "embedded") {
    const servers = typeof hot === "string" ? [hot] : hot;
    steps.push(async () => {
      const { pingRedis } = await import("../redis/ping.ts");
      const ping = (server: string, timeoutMs: number) =>
        pingRedis(server, typeof hot !== "string", timeoutMs);
      await reach("stores.hot", "Redis", servers, ping, patienceMs);
    });
  }
  if (ledger !== "embedded") {
    steps.push(async () => {
      const { grantsOf } = await import("../database/ping.ts");
      const ping = (url: string, timeoutMs: number) =>
        grantsOf(url, timeoutMs, LIFETIMES.statementTimeoutMs);
      const grants = await reach("stores.ledger", "Postgres", [ledger], ping, patienceMs);
      checkRights(grants);
      checkStatementTimeout(grants);
      const { connections } = grants;
      const warnings = tlsWarnings(ledger);
      if (connections === undefined) return warnings;
      const others = connections.used - (mayRun ? connections.usedHere : 0);
      return [...warnings, ...connectionWarnings(listen.workers, stores, connections, others)];
    });
  }
  return steps;
}

/** Throws if the role lacks the right to make the tables of the ledger. */
function checkRights({ role, database, mayCreate }: Grants): void {
  if (mayCreate) return;
  throw new Error(
    `stores.ledger: the role ${role} cannot make tables in the database ${database}; as a superuser, run ` +
      `alter database ${database} owner to ${role}`,
  );
}

/** Throws if a pooler has dropped the time limit of statements: what is done about a slow ledger relies on it. */
function checkStatementTimeout({ role, statementTimeoutMs }: Grants): void {
  if (statementTimeoutMs > 0 && statementTimeoutMs <= LIFETIMES.statementTimeoutMs) return;
  throw new Error(
    "stores.ledger: the pooler before Postgres drops the statement_timeout that the gateway asks for; as a superuser, run " +
      `alter role ${role} set statement_timeout = '${LIFETIMES.statementTimeoutMs}ms'`,
  );
}

/** Warns of TLS that encrypts the ledger for a server that it does not check. */
function tlsWarnings(ledger: string): readonly string[] {
  const { places, tls } = readAddress(ledger);
  if (tls?.mode !== "require" && tls?.mode !== "prefer") return [];
  if (places.every(({ host, path }) => path !== undefined || isLoopback(host))) return [];
  return [
    `stores.ledger: with sslmode=${tls.mode} any server can pass for Postgres, and read and change the ledger; write ` +
      "sslmode=verify-full, and sslrootcert=FILE with the authority of its certificate unless Node trusts it",
  ];
}

/** Throws if Postgres never has enough connections. Returns a warning if it has too few while others keep theirs. */
function connectionWarnings(
  workers: number,
  { connections }: Config["stores"],
  { allowed }: ServerConnections,
  used: number,
): readonly string[] {
  const wanted = workers * connections;
  const needs = `stores.connections: ${workers} workers with ${connections} connections each need ${wanted}`;
  const advice = "lower it, or raise max_connections of Postgres";
  if (wanted > allowed) throw new Error(`${needs}, and Postgres allows ${allowed}; ${advice}.`);
  if (wanted + used <= allowed) return [];
  return [`${needs}, and others use ${used} of ${allowed}; ${advice}`];
}

/**
 * Creates the folder for its owner only, and closes one that exists to users outside of its group. Refuses one that all
 * users share, such as /tmp: closed, it would serve no other program.
 */
async function checkFolder(folder: string): Promise<void> {
  let isShared = false;
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await access(folder, constants.W_OK);
    const { mode, uid } = await stat(folder);
    isShared = (mode & SHARED) === SHARED;
    if (!isShared && (mode & OTHERS) !== 0 && uid === process.getuid?.()) {
      await chmod(folder, mode & 0o7777 & ~OTHERS);
    }
  } catch (error) {
    throw new Error(
      `stores.data: expected a folder that can be written; ${folder} is not one (${codeNameOf(error)}).`,
    );
  }
  if (isShared) {
    throw new Error(
      `stores.data: expected a folder of the gateway's own; all users of the machine share ${folder}.`,
    );
  }
}

/**
 * Throws if this process could not listen there. Does not listen: a proxy in front would send a call to the port that
 * opens for a moment, and lose it. Workers of another gateway, such as the one that this one replaces, may share the port
 * with those of this one.
 */
async function checkAddress(
  setting: string,
  { host, port }: { readonly host: string; readonly port: number },
  mayShare: boolean,
): Promise<void> {
  try {
    await bindDatagrams(host, port);
  } catch (error) {
    // Datagrams have ports of their own.
    if (codeOf(error) !== "EADDRINUSE")
      throw new Error(addressFault(setting, host, port, codeNameOf(error)));
  }
  if (port === 0 || !(await isOpen(host, port))) return;
  const isOther = await isGateway(host, port);
  if (mayShare && isOther) return;
  throw new Error(addressFault(setting, host, port, isOther ? "another gateway" : "EADDRINUSE"));
}

/** Rejects if this process lacks the right to use the port, or this machine has no such address. */
async function bindDatagrams(host: string, port: number): Promise<void> {
  const { address, family } = await lookup(host);
  const probe = createSocket(family === 6 ? "udp6" : "udp4");
  try {
    await new Promise<void>((resolve, reject) => {
      probe.once("error", reject);
      probe.bind({ address, port, exclusive: true }, resolve);
    });
  } finally {
    await new Promise<void>((resolve) => probe.close(resolve));
  }
}

function isOpen(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: CONNECT_MS });
    const settle = (open: boolean) => {
      socket.destroy();
      resolve(open);
    };
    // A port that outgoing connections use may have been given to this one, which then reached itself.
    socket.once("connect", () => settle(socket.localPort !== port));
    socket.once("timeout", () => settle(false));
    socket.once("error", () => settle(false));
  });
}

async function isGateway(host: string, port: number): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(CONNECT_MS);
    const reply = await fetch(`${httpAddress(host, port)}/healthz`, { signal });
    return (await reply.text()) === ALIVE_BODY;
  } catch {
    return false;
  }
}

function addressFault(setting: string, host: string, port: number, code: string): string {
  switch (code) {
    case "EADDRINUSE":
      return `${setting}.port: port ${port} of ${host} is in use; stop the process that uses it, or set another port.`;
    case "another gateway":
      return `${setting}.port: another Tollgate, which runs already, has port ${port} of ${host}; stop it, or set another port.`;
    case "EACCES":
      return `${setting}.port: this user is not allowed to listen on port ${port}; set one above 1023, or grant CAP_NET_BIND_SERVICE.`;
    case "EADDRNOTAVAIL":
      return `${setting}.host: this machine has no address ${host}; use one of its own, 127.0.0.1, or 0.0.0.0 for all.`;
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `${setting}.host: the name ${host} is unknown; use an address of this machine, 127.0.0.1, or 0.0.0.0 for all.`;
    default:
      return `${setting}: cannot listen on ${host}:${port} (${code}).`;
  }
}

async function reach<T>(
  setting: string,
  name: string,
  servers: readonly string[],
  ping: (url: string, timeoutMs: number) => Promise<T>,
  patienceMs: number,
): Promise<T> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const faults: string[] = [];
    for (const server of servers) {
      try {
        return await ping(server, CONNECT_MS);
      } catch (error) {
        faults.push(`${placeOf(server)} (${reasonOf(error)})`);
      }
    }
    if (performance.now() > deadline) {
      throw new Error(
        `${setting}: cannot use ${name} at ${faults.join(", ")}; start it, or correct the setting.`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

/** Returns a URL without its secrets. */
function placeOf(url: string): string {
  return /:\/\/(?:[^/?]*@)?([^/?]*)/.exec(url)?.[1] || "its address";
}

function reasonOf(error: unknown): string {
  const code = codeNameOf(error);
  const message = error instanceof Error ? error.message : "";
  if (/unsupported startup parameter/.test(message)) return `${message}: ${POOLER_ADVICE}`;
  return /^E[A-Z]+$/.test(code) || message === "" ? code : message;
}

function codeNameOf(error: unknown): string {
  return codeOf(error) ?? (error instanceof Error ? error.name : "unknown error");
}
