import { readLua, type Script, script } from "../../redis/script.ts";

const MONEY = [
  "hold",
  "extend",
  "post",
  "void",
  "disown",
  "credit",
  "load",
  "close",
  "acknowledge",
  "set-limit",
  "drop-limit",
] as const;
const MEMBERS = [
  "look",
  "join",
  "declare",
  "reap",
  "leave",
  "allow-loads",
  "claim",
  "finish",
  "held-calls",
] as const;

/** `noop` counts as an operation and does nothing. `stamp` does only what all operations from the ledger do. */
export type MoneyOperation = (typeof MONEY)[number] | "noop" | "stamp";
/** These bring what the ledger has into the wallets. */
export type LedgerOperation = Extract<
  MoneyOperation,
  "acknowledge" | "load" | "credit" | "set-limit" | "stamp"
>;
export type MembersOperation = (typeof MEMBERS)[number];

/**
 * All operations on money as one script. The script is also the fence of a bucket: a server forgets its scripts when it
 * starts, so after a restart every operation fails as an unknown script. The members check that Redis lost nothing,
 * then one of them loads the script again. Nothing else that a script can see shows that an old snapshot was restored.
 *
 * The text, and so the hash, names the bucket, since each has a fence of its own, and the server: a former primary that
 * is promoted again kept the script with its own name, but has another replication id. `server` is as `look` returns it,
 * `<run_id> <address> <replication id>`; "" for a script that runs nowhere.
 */
export function moneyScript(bucket: string, server: string): Script {
  const [, run = "", address = "", data = ""] = SERVER.exec(server) ?? [];
  const home = `-- ${bucket}\nlocal home, address, data = '${run}', '${address}', '${data}'\n`;
  return script(`${home}${moneyOperations}return { n, 'ok' }\n`);
}

/** The only texts that may become part of a script. */
const SERVER = /^([0-9a-f]+) (table: [0-9a-fx]+) ([0-9a-f]+)$/;

const moneyOperations = assemble("money", MONEY);

export const membersScript: Script = script(read("server") + assemble("members", MEMBERS));

export const beatScript: Script = script(read("server") + read("beat"));

export const settledScript: Script = script(read("settled"));

function assemble(head: string, operations: readonly string[]): string {
  const bodies = operations.map((name) => `if ARGV[1] == '${name}' then\n${read(name)}end\n`);
  return read(head) + bodies.join("");
}

function read(name: string): string {
  return readLua(`core/money/redis/lua/${name}.lua`);
}
