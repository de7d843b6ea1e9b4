import { readLua, type Script, script } from "../../redis/script.ts";

const MONEY = ["hold", "extend", "post", "void", "credit", "load", "close", "acknowledge"] as const;

/** `noop` counts as an operation and does nothing. */
export type MoneyOperation = (typeof MONEY)[number] | "noop";

/**
 * All operations on money as one script. It is sent by its hash only, so it runs on no server that started, or took over,
 * after the epoch began: such a one may have lost its last writes, and does not know the script. Nothing else that a script
 * can see shows that an old snapshot was restored.
 *
 * The text, and so the hash, names the server: a former primary that is promoted again kept the script with its own name,
 * but has another replication id. `server` is as `look` returns it; "" for a script that runs nowhere.
 */
export function moneyScript(bucket: string, server: string): Script {
  const [, run = "", address = "", data = ""] = SERVER.exec(server) ?? [];
  const home = `-- ${bucket}\nlocal home, address, data = '${run}', '${address}', '${data}'\n`;
  return script(home + moneyOperations);
}

/** The only texts that may become part of a script. */
const SERVER = /^([0-9a-f]+) (table: [0-9a-fx]+) ([0-9a-f]+)$/;

const moneyOperations = [
  read("money"),
  ...MONEY.map((name) => `function operations.${name}(k, text, at)\n${read(name)}end\n`),
  "function operations.noop() return 'ok' end\n",
  read("run"),
].join("");

export const epochScript: Script = script(read("epoch"));

function read(name: string): string {
  return readLua(`core/money/redis/lua/${name}.lua`);
}
