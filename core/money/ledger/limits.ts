import { MICRO_VND_MAX } from "../../catalogue/amount.ts";
import type { Sql } from "../../database/client.ts";
import type { LimitSnapshot } from "../hold-store.ts";
import type { LimitChange, LimitChangeResult } from "../ledger.ts";
import type { PostgresHistory } from "./history.ts";

const AMOUNT_MAX = BigInt(MICRO_VND_MAX);
/** Maximum number of limits of an account: all of them are loaded with its wallet. */
const LIMITS_MAX = 1_000;

type Outcome = LimitChangeResult["kind"] | "repeated" | "exists";

/**
 * Returns a SQL expression: the limits of an account as JSON, null if it has none. Charges in quarantine are subtracted
 * from what is available.
 */
export function limitsColumn(account: string): string {
  return `(
    select json_agg(json_build_object(
      'name', name, 'version', version, 'totalMicroVnd', total,
      'availableMicroVnd', total - charged - ${quarantinedWithin("wallet_limits")}
    ) order by name)
    from wallet_limits where wallet_limits.account_id = ${account}
  )`;
}

/** Returns a SQL expression: the charges in quarantine, in µđ, of the limit in a row of `wallet_limits`. */
export function quarantinedWithin(limit: string): string {
  return `(
    select coalesce(sum(quarantine.charged), 0)::bigint
    from quarantine cross join json_array_elements_text(quarantine.limits) named (name)
    where quarantine.account_id = ${limit}.account_id::text and named.name = ${limit}.name
  )`;
}

const CREATE = "select create_wallet_limit($1, $2, $3, $4, $5, $6) as outcome";
const CHANGE = "select change_wallet_limit($1, $2, $7, $3, $4, $5, $6) as outcome";

/** Commits a change of a limit's total in one transaction: see these functions in the migrations. */
export async function changeLimit(
  sql: Sql,
  history: PostgresHistory,
  change: LimitChange,
): Promise<LimitChangeResult> {
  const { accountId, name, kind, amountMicroVnd, reference, reason } = change;
  if (amountMicroVnd > AMOUNT_MAX) return { kind: "out_of_range" };
  if (amountMicroVnd < -AMOUNT_MAX) return { kind: "below_zero" };
  const parameters = [accountId, name, amountMicroVnd, reference, reason, LIMITS_MAX];
  const [row] =
    kind === "create"
      ? await history.commit<{ outcome: Outcome }>(CREATE, parameters)
      : await history.commit<{ outcome: Outcome }>(CHANGE, [...parameters, kind]);
  const outcome = row?.outcome ?? "no_account";
  if (outcome !== "changed" && outcome !== "repeated" && outcome !== "exists") {
    return { kind: outcome };
  }
  // Read after the commit: it includes this change, and perhaps later ones; its version says which.
  const limit = await readLimit(sql, accountId, name);
  return limit ? { kind: "changed", applied: outcome === "changed", limit } : { kind: "removed" };
}

/** Removes a limit for good. Returns false if there is none. */
export async function removeLimit(
  history: PostgresHistory,
  accountId: string,
  name: string,
): Promise<boolean> {
  const [row] = await history.commit<{ removed: boolean }>(
    "select remove_wallet_limit($1, $2) as removed",
    [accountId, name],
  );
  return row?.removed ?? false;
}

async function readLimit(
  sql: Sql,
  accountId: string,
  name: string,
): Promise<LimitSnapshot | undefined> {
  const [row] = await sql.query<{ limits: LimitSnapshot[] | null }>(
    `select ${limitsColumn("$1")} as limits`,
    [accountId],
  );
  return row?.limits?.find((limit) => limit.name === name);
}
