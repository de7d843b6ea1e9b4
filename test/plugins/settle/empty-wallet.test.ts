import t from "tap";
import { SERVES_NOTHING } from "../../../core/catalogue/endpoint.ts";
import { isRefusal } from "../../../core/plugin/index.ts";
import settle from "../../../plugins/settle/index.ts";
import {
  deskOf,
  keyOf,
  type PreparedChanges,
  preparedCall,
  SETTLE_SETTINGS,
} from "../../support/plugin-desk.ts";

interface Case {
  /** The µđ in the wallet; undefined if there is no wallet. */
  readonly available?: number | Error;
  /** `content-length`. */
  readonly length?: string;
  readonly changes?: PreparedChanges;
  readonly path?: string;
}

/** The status of the refusal before the body is read, or `read`; and how many wallets were looked at. */
async function admitted({ available, length = "70000", changes = {}, path }: Case) {
  let looks = 0;
  const balances = async () => {
    looks += 1;
    if (available instanceof Error) throw available;
    return available === undefined ? undefined : { availableMicroVnd: available };
  };
  const { services } = deskOf({ wallets: { current: { balances } } });
  const call = preparedCall(changes, path);
  Object.assign(call.headers, { "content-length": length });
  const verdict = await settle(services, SETTLE_SETTINGS).admit?.(call);
  return [isRefusal(verdict) ? verdict.status : "read", looks];
}

t.test("a long body is refused before it is read if its wallet is empty or missing", async (t) => {
  t.strictSame(await admitted({ available: 0 }), [402, 1]);
  t.strictSame(await admitted({ available: -1 }), [402, 1]);
  t.strictSame(await admitted({}), [402, 1]);
  t.strictSame(await admitted({ available: 0, length: String(64 * 1024 + 1) }), [402, 1]);
});

t.test("a long body is read if its wallet has money, or cannot be read", async (t) => {
  t.strictSame(await admitted({ available: 1 }), ["read", 1]);
  t.strictSame(await admitted({ available: new Error("away") }), ["read", 1]);
});

t.test("the wallet is not looked at for a short body, without a key or a price", async (t) => {
  t.strictSame(await admitted({ available: 0, length: String(64 * 1024) }), ["read", 0]);
  t.strictSame(await admitted({ changes: { key: undefined } }), ["read", 0]);
  t.strictSame(await admitted({ changes: { endpoint: SERVES_NOTHING } }), ["read", 0]);
  t.strictSame(await admitted({ changes: { key: keyOf() } }), [402, 1]);
  const free = keyOf({ discountBps: 10_000 });
  t.strictSame(await admitted({ available: 0, changes: { key: free } }), ["read", 0]);
});
