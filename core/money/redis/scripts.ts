import { readLua, type Script, script } from "../../redis/script.ts";

const MONEY = [
  "hold",
  "extend",
  "post",
  "void",
  "credit",
  "load",
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

/** `noop` counts as an operation and does nothing. */
export type MoneyOperation = (typeof MONEY)[number] | "noop";
export type MembersOperation = (typeof MEMBERS)[number];

/**
 * All operations on money as one script, with the bucket's name in its text and so in its hash. A server
 * forgets its scripts when it starts, and nothing else that a script can see tells a server which has
 * restored an old snapshot from one that has not. So this script is a gate: after a start nobody gets past
 * it, bucket by bucket, until those who share the bucket have made sure that nothing is lost, and load it.
 */
export function moneyScript(bucketName: string): Script {
  return script(`-- ${bucketName}\n${assemble("money", MONEY)}return { n, 'ok' }\n`);
}

export const membersScript: Script = script(assemble("members", MEMBERS));

function assemble(head: string, operations: readonly string[]): string {
  const bodies = operations.map((name) => `if ARGV[1] == '${name}' then\n${read(name)}end\n`);
  return read(head) + bodies.join("");
}

function read(name: string): string {
  return readLua(`core/money/redis/lua/${name}.lua`);
}
