import { arrayOf } from "../../core/process/json.ts";
import { asked, type RedisStage } from "./redis-stage.ts";

/**
 * The amounts of all wallets in their buckets' current epochs, read from Redis in one step per node
 * and without the gateway's code.
 */
export interface RedisState {
  /** µđ by account: available, held and uncommitted. */
  readonly wallets: ReadonlyMap<string, { available: bigint; held: bigint; uncommitted: bigint }>;
  /** `<µđ>:<process>:<account>` by call. */
  readonly holds: ReadonlyMap<string, string>;
  /** Entries of all outboxes, including those of dead gateways and earlier epochs. */
  readonly outboxEntries: number;
}

const READ = `
local wallets, holds, entries = {}, {}, 0
for _, name in ipairs(redis.call('KEYS', 'tollgate:{*}:epoch')) do
  local base = string.sub(name, 1, -6)
  local under = base .. redis.call('GET', name) .. ':'
  for _, part in ipairs(redis.call('HGETALL', under .. 'w')) do wallets[#wallets + 1] = part end
  for _, part in ipairs(redis.call('HGETALL', under .. 'holds')) do holds[#holds + 1] = part end
end
for _, name in ipairs(redis.call('KEYS', 'tollgate:{*}:*:o:*')) do
  entries = entries + redis.call('XLEN', name)
end
return { wallets, holds, entries }
`;

const WATCHED = `
local negative, holds = {}, {}
for _, name in ipairs(redis.call('KEYS', 'tollgate:{*}:*:w')) do
  local parts = redis.call('HGETALL', name)
  for at = 1, #parts, 2 do
    if string.match(parts[at], ':[ahp]$') and string.sub(parts[at + 1], 1, 1) == '-' then
      negative[#negative + 1] = parts[at] .. ' ' .. parts[at + 1]
    end
  end
end
for _, name in ipairs(redis.call('KEYS', 'tollgate:{*}:*:holds')) do
  for _, call in ipairs(redis.call('HKEYS', name)) do holds[#holds + 1] = call end
end
return { negative, holds }
`;

/** Reads every primary. Rejects if one is down. */
export async function readRedisState(redis: RedisStage): Promise<RedisState> {
  if (!(await redis.isWhole())) throw new Error("redis is not whole");
  const wallets = new Map<string, { available: bigint; held: bigint; uncommitted: bigint }>();
  const open = new Set<string>();
  const holds = new Map<string, string>();
  let outboxEntries = 0;
  for (const { server } of await redis.primaries()) {
    const [parts, held, entries] = arrayOf(await server.call("EVAL", READ, "0"));
    for (const [field, amount] of pairs(parts)) {
      const [accountId = "", part] = field.split(":");
      const wallet = wallets.get(accountId) ?? { available: 0n, held: 0n, uncommitted: 0n };
      if (part === "a") {
        wallet.available = BigInt(amount);
        open.add(accountId);
      }
      if (part === "h") wallet.held = BigInt(amount);
      if (part === "p") wallet.uncommitted = BigInt(amount);
      wallets.set(accountId, wallet);
    }
    for (const [call, hold] of pairs(held)) holds.set(call, hold);
    outboxEntries += Number(entries);
  }
  // A movement leaves a total for wallets that are not loaded, without any of these parts.
  for (const accountId of wallets.keys()) {
    if (!open.has(accountId)) wallets.delete(accountId);
  }
  return { wallets, holds, outboxEntries };
}

function* pairs(flat: unknown): Generator<[string, string]> {
  const list = arrayOf(flat).map(String);
  for (let at = 0; at + 1 < list.length; at += 2) yield [list[at]!, list[at + 1]!];
}

/** Reads all wallets and holds repeatedly during the run. */
export class RedisWatch {
  /** Parts of wallets that were below zero. */
  readonly belowZero = new Set<string>();
  looks = 0;
  private timer: NodeJS.Timeout | undefined;

  /** `onHolds` gets the ids of all calls that hold money, after each look. */
  constructor(
    private readonly redis: RedisStage,
    everyMs: number,
    private readonly onHolds: (calls: readonly string[]) => void,
  ) {
    const look = async () => {
      await this.look().catch(() => {});
      if (this.timer) this.timer = setTimeout(look, everyMs);
    };
    this.timer = setTimeout(look, everyMs);
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private async look(): Promise<void> {
    const replies = await Promise.all(
      (await this.redis.primaries()).map((node) => asked(node, "EVAL", WATCHED, "0")),
    );
    const held: string[] = [];
    for (const reply of replies) {
      if (!Array.isArray(reply)) continue;
      const [negative, holds] = reply;
      for (const part of arrayOf(negative)) this.belowZero.add(String(part));
      held.push(...arrayOf(holds).map(String));
    }
    this.onHolds(held);
    this.looks += 1;
  }
}
