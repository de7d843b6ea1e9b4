import t from "tap";
import type { CallerKey } from "../../../core/accounts/account.ts";
import { isRefusal } from "../../../core/plugin/index.ts";
import auth from "../../../plugins/auth/index.ts";
import { newCall } from "../../support/call.ts";
import { deskOf, keyOf } from "../../support/plugin-desk.ts";

type Found = CallerKey | undefined | Promise<CallerKey | undefined>;

/** Admits a call with these headers; returns the verdict, the key that was looked up, and the call. */
async function admitted(
  headers: Record<string, string>,
  find: (secret: string) => Found = () => keyOf(),
) {
  const asked: string[] = [];
  const keys = {
    find(secret: string): Found {
      asked.push(secret);
      return find(secret);
    },
  };
  const { services, lines } = deskOf({ keys });
  const call = Object.assign(newCall(), { headers });
  const verdict = await auth(services).admit?.(call);
  const status = isRefusal(verdict) ? `${verdict.status} ${verdict.code}` : "admitted";
  return { verdict, status, asked, call, lines };
}

t.test("a key may come in either header", async (t) => {
  const table: [string, Record<string, string>, string | undefined][] = [
    ["x-api-key", { "x-api-key": "tg-1" }, "tg-1"],
    ["Authorization", { authorization: "Bearer tg-1" }, "tg-1"],
    ["the scheme in any case", { authorization: "bEaReR tg-1" }, "tg-1"],
    ["spaces around it", { authorization: "Bearer   tg-1 " }, "tg-1"],
    ["one character", { authorization: "Bearer x" }, "x"],
    ["both: x-api-key counts", { "x-api-key": "tg-1", authorization: "Bearer tg-2" }, "tg-1"],
    ["an empty x-api-key", { "x-api-key": "", authorization: "Bearer tg-2" }, "tg-2"],
    ["512 characters", { "x-api-key": "k".repeat(512) }, "k".repeat(512)],
    ["513 characters", { "x-api-key": "k".repeat(513) }, undefined],
    ["no header", {}, undefined],
    ["an empty Bearer", { authorization: "Bearer " }, undefined],
    ["spaces only", { authorization: "Bearer    " }, undefined],
    ["another scheme", { authorization: "Basic dGVzdA==" }, undefined],
    ["no scheme", { authorization: "tg-12345678" }, undefined],
  ];
  for (const [what, headers, expected] of table) {
    const { status, asked } = await admitted(headers);
    t.strictSame(asked, expected === undefined ? [] : [expected], what);
    t.equal(status, expected === undefined ? "401 invalid_api_key" : "admitted", what);
  }
});

t.test("a wrong key in one header does not hide the right one in the other", async (t) => {
  const right = keyOf();
  const revoked = { ...keyOf(), status: "revoked" } as const;
  for (const wrong of [undefined, revoked]) {
    for (const later of [false, true]) {
      const find = (secret: string) => {
        const found = secret === "tg-right" ? right : wrong;
        return later ? Promise.resolve(found) : found;
      };
      const headers = { "x-api-key": "dummy", authorization: "Bearer tg-right" };
      const { status, call, asked } = await admitted(headers, find);
      t.equal(status, "admitted");
      t.equal(call.key, right);
      t.strictSame(asked, ["dummy", "tg-right"]);
    }
  }
  const both = { "x-api-key": "dummy", authorization: "Bearer dummy-2" };
  t.equal((await admitted(both, () => undefined)).status, "401 invalid_api_key");
});

t.test("a call gets the key that was found, at once or late", async (t) => {
  const key = keyOf();
  for (const find of [() => key, async () => key]) {
    const { status, call } = await admitted({ "x-api-key": "tg-1" }, find);
    t.equal(status, "admitted");
    t.equal(call.key, key);
  }
});

t.test("a cached key is checked without a promise", async (t) => {
  const { services } = deskOf({ keys: { find: () => keyOf() } });
  const call = Object.assign(newCall(), { headers: { "x-api-key": "tg-1" } });
  t.equal(auth(services).admit?.(call), undefined);
});

t.test("a refused key is not set on the call", async (t) => {
  const table: [string, CallerKey | undefined, string][] = [
    ["unknown", undefined, "401 invalid_api_key"],
    ["revoked", keyOf({ status: "revoked" }), "401 invalid_api_key"],
    ["of a suspended account", keyOf({ accountStatus: "suspended" }), "403 null"],
    [
      "revoked, of a suspended account",
      keyOf({ status: "revoked", accountStatus: "suspended" }),
      "401 invalid_api_key",
    ],
  ];
  for (const [what, key, expected] of table) {
    const { status, call } = await admitted({ "x-api-key": "tg-1" }, async () => key);
    t.equal(status, expected, what);
    t.equal(call.key, undefined, what);
    t.equal(call.refusedKey, key, what);
  }
});

t.test("a revoked key in one header is known though the other one is not", async (t) => {
  const revoked = keyOf({ status: "revoked" });
  const find = (secret: string) => (secret === "tg-1" ? revoked : undefined);
  for (const [first, second] of [
    ["tg-1", "dummy"],
    ["dummy", "tg-1"],
  ] as const) {
    const headers = { "x-api-key": first, authorization: `Bearer ${second}` };
    const { status, call } = await admitted(headers, find);
    t.equal(status, "401 invalid_api_key");
    t.equal(call.refusedKey, revoked);
  }
});

t.test(
  "unknown and revoked keys get the same message, a missing one says how to send it",
  async (t) => {
    const unknown = await admitted({ "x-api-key": "tg-1" }, () => undefined);
    const revoked = await admitted({ "x-api-key": "tg-1" }, () => keyOf({ status: "revoked" }));
    t.strictSame(unknown.verdict, revoked.verdict);
    const missing = await admitted({});
    t.match(missing.verdict, { message: /x-api-key.*Authorization: Bearer/ });
  },
);

t.test("a key that cannot be looked up is 503, with a line in the log that lacks it", async (t) => {
  const { status, call, lines } = await admitted({ "x-api-key": "tg-secret" }, () =>
    Promise.reject(new Error("the ledger is down")),
  );
  t.equal(status, "503 null");
  t.equal(call.key, undefined);
  t.match(lines, [{ call_id: "id", err: { message: "the ledger is down" } }]);
  t.notMatch(JSON.stringify(lines), /tg-secret/);
});
