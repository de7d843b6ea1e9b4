import type { Client } from "./client.ts";
import type { Ask, Values } from "./command.ts";
import { EXIT, Failure } from "./failure.ts";

/** An amount in đ; money commands ask before they move more. */
const BOUND_VND = 5_000_000n;

/** Options of commands that move money. */
export const MONEY_FLAGS: readonly string[] = ["yes"];

/**
 * Sends a movement of money. The gateway refuses a large one, and says whose wallet it changes: then a person is asked, and
 * the movement is sent again. Without a terminal it needs `--yes`.
 */
export async function postMoney(
  client: Client,
  path: string,
  body: object,
  { yes }: Values,
  ask: Ask | undefined,
): Promise<unknown> {
  if (yes !== undefined) return client.post(path, body);
  try {
    return await client.post(path, { ...body, confirm_above_vnd: String(BOUND_VND) });
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== "confirmation_needed") throw error;
    await confirm(error.message, ask);
    return client.post(path, body);
  }
}

/** Asks before many credits if they are large together, in µđ. */
export async function confirmCredits(
  microVnd: bigint,
  count: number,
  { yes }: Values,
  ask: Ask | undefined,
): Promise<void> {
  const vnd = (microVnd / 1_000_000n).toLocaleString("en");
  if (yes !== undefined || microVnd <= BOUND_VND * 1_000_000n) return;
  await confirm(`Credit up to ${vnd} đ to ${count} accounts?`, ask);
}

/** Throws a Failure unless a person at the terminal agrees. */
export async function confirm(question: string, ask: Ask | undefined): Promise<void> {
  if (!ask) {
    throw new Failure(EXIT.usage, `${question} Nothing has changed; to confirm it, add --yes.`);
  }
  const reply = await ask(`${question} [y/N] `);
  if (!/^y(?:es)?$/i.test(reply.trim())) throw new Failure(EXIT.refused, "Nothing has changed.");
}
