import { arrayOf } from "../../core/process/json.ts";
import type { RedisServer } from "../support/redis.ts";

/**
 * What Redis holds of all wallets in their buckets' current epochs, read in one step and without
 * the gateway's code.
 */
export interface RedisState {
  /** µđ by account: available, held and uncommitted. */
  readonly wallets: ReadonlyMap<string, { available: bigint; held: bigint; uncommitted: bigint }>;
  readonly holds: readonly string[];
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

const NEGATIVE = `
local found = {}
for _, name in ipairs(redis.call('KEYS', 'tollgate:{*}:*:w')) do
  local parts = redis.call('HGETALL', name)
  for at = 1, #parts, 2 do
    if string.match(parts[at], ':[ahp]$') and string.sub(parts[at + 1], 1, 1) == '-' then
      found[#found + 1] = parts[at] .. ' ' .. parts[at + 1]
    end
  end
end
return found
`;

export async function readRedisState(redis: RedisServer): Promise<RedisState> {
  const [parts, holds, entries] = arrayOf(await redis.call("EVAL", READ, "0"));
  const wallets = new Map<string, { available: bigint; held: bigint; uncommitted: bigint }>();
  const open = new Set<string>();
  const flat = arrayOf(parts).map(String);
  for (let at = 0; at + 1 < flat.length; at += 2) {
    const [accountId = "", part] = flat[at]!.split(":");
    const wallet = wallets.get(accountId) ?? { available: 0n, held: 0n, uncommitted: 0n };
    if (part === "a") {
      wallet.available = BigInt(flat[at + 1]!);
      open.add(accountId);
    }
    if (part === "h") wallet.held = BigInt(flat[at + 1]!);
    if (part === "p") wallet.uncommitted = BigInt(flat[at + 1]!);
    wallets.set(accountId, wallet);
  }
  // A movement leaves a total for wallets that are not loaded, without any of these parts.
  for (const accountId of wallets.keys()) {
    if (!open.has(accountId)) wallets.delete(accountId);
  }
  return { wallets, holds: arrayOf(holds).map(String), outboxEntries: Number(entries) };
}

/** Checks all wallets repeatedly during the run for a part below zero. */
export class BelowZeroWatch {
  readonly found = new Set<string>();
  looks = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(redis: RedisServer, everyMs: number) {
    const look = async () => {
      try {
        for (const part of arrayOf(await redis.call("EVAL", NEGATIVE, "0"))) {
          this.found.add(String(part));
        }
        this.looks += 1;
      } catch {
        // Redis is down.
      }
      if (this.timer) this.timer = setTimeout(look, everyMs);
    };
    this.timer = setTimeout(look, everyMs);
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }
}
