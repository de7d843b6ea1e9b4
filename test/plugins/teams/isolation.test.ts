import assert from "node:assert/strict";
import t from "tap";
import { until } from "../../support/until.ts";
import { pathOf, teamWorld } from "./world.ts";

t.test("a member of a team", async (t) => {
  const at = await teamWorld();
  const team = await busyTeam();
  t.teardown(() => at.close());

  async function busyTeam() {
    const [owner, person, other] = [await at.owner(), await at.person(), await at.person()];
    const id = await at.join(owner, person);
    const otherId = await at.join(owner, other, { role: "manager" });
    const keys = [await at.newKey(owner), await at.newKey(other, owner)];
    const own = await at.newKey(person, owner);
    const calls = [];
    for (const key of [...keys, own]) {
      calls.push(await at.call(key));
      assert.equal(await at.refused(key), 400);
    }
    for (const [turn, callId] of calls.entries()) {
      await at.recorded([...keys, own][turn]!, callId);
    }
    await until("the refused calls are counted", async () => {
      const { body } = await owner.get("/usage/refused");
      return body.counts.length === calls.length;
    });
    return { owner, person, other, id, otherId, keys, own, calls };
  }

  t.test("uses these routes of his team, and no other", async (t) => {
    const all = at.world.gateway.router.all();
    const found = all.filter(({ path }) => path.startsWith("/account/v1/teams/:team/"));
    t.strictSame(
      found
        .map(({ method, path }) => `${method} ${path.slice("/account/v1/teams/:team".length)}`)
        .sort(),
      [
        ...["GET /calls/:id", "GET /keys", "GET /members"],
        ...["GET /usage", "GET /usage.csv", "GET /usage/refused", "GET /usage/summary"],
        ...["POST /join", "POST /keys", "POST /keys/:key/limits", "POST /keys/:key/reveal"],
        ...["POST /keys/:key/revoke", "POST /leave"],
        ...["POST /members", "POST /members/:member", "POST /members/:member/remove"],
      ],
    );
  });

  t.test("sees only his own keys and calls, whatever he asks for", async (t) => {
    const { owner, person, other, keys, own, calls, otherId } = team;
    const secrets = [
      ...keys.flatMap(({ id, key }) => [id, key]),
      ...calls.slice(0, 2),
      ...[other.accountId, other.email, otherId, "10000000", "9996"],
    ];
    const path = pathOf(owner);
    const foreign = keys.map(({ id }) => `key=${id}`);
    const filters = ["", "status=ok", "status=failed", ...foreign, `member=${otherId}`];
    const asked = [
      "/teams",
      `${path}/keys`,
      ...filters.flatMap((filter) => [
        `${path}/usage?${filter}`,
        `${path}/usage/refused?${filter}`,
        `${path}/usage.csv?${filter}`,
        `${path}/usage/summary?by=key&${filter}`,
        `${path}/usage/summary?by=day,model&${filter}`,
      ]),
    ];
    for (const one of asked) {
      const { status, text } = await person.get(one);
      t.equal(status, 200, `${one}: ${text}`);
      for (const secret of secrets) t.notOk(text.includes(secret), `${one}: ${text}`);
    }
    const { data } = (await person.get(`${path}/usage`)).body;
    t.match(data, [{ call_id: calls[2], key_id: own.id }]);
    t.equal(data.length, 1);
    t.equal((await person.get(`${path}/usage/summary?by=day`)).body.total.calls, 1);
    t.match((await person.get(`${path}/usage/refused`)).body.counts, [
      { key_id: own.id, calls: 1 },
    ]);
    t.match((await person.get(`${path}/keys`)).body.data, [{ id: own.id }]);
    t.equal((await person.get(`${path}/calls/${calls[2]}`)).status, 200);
    for (const callId of calls.slice(0, 2)) {
      t.equal((await person.get(`${path}/calls/${callId}`)).status, 404);
    }
    for (const { id } of keys) {
      for (const what of ["reveal", "revoke", "limits"]) {
        t.equal((await person.post(`${path}/keys/${id}/${what}`)).status, 404, what);
      }
    }
    const active = (await owner.get("/keys")).body.data.filter(
      (one: { status: string }) => one.status === "active",
    );
    t.equal(active.length, 3);
  });

  t.test("reaches nothing of the team by his own routes, nor by his key", async (t) => {
    const { person, own, keys, calls, owner } = team;
    for (const path of ["/keys", "/usage", "/usage/refused", "/money?month=2026-11", "/wallet"]) {
      const { text } = await person.get(path);
      for (const { id } of [...keys, own]) t.notOk(text.includes(id), `${path}: ${text}`);
    }
    t.equal((await person.post(`/keys/${own.id}/reveal`)).status, 404);
    t.equal((await person.get(`/calls/${calls[2]}`)).status, 404);
    t.strictSame((await person.get("/wallet")).body.balance_vnd, "0");

    const asks = async (path: string) => {
      const headers = { authorization: `Bearer ${own.key}` };
      const response = await fetch(`${at.world.url}${path}`, { headers });
      const text = await response.text();
      for (const secret of [owner.email, "10000000", "9996", ...keys.map(({ id }) => id)]) {
        t.notOk(text.includes(secret), `${path}: ${text}`);
      }
      return { status: response.status, body: JSON.parse(text) };
    };
    for (const path of [
      ...["/v1/balance", "/api/v1/credits", "/v1/dashboard/billing/subscription"],
      ...["/v1/dashboard/billing/usage", "/v1/dashboard/billing/credit_grants"],
    ]) {
      t.match(await asks(path), { status: 403, body: { error: { code: "wallet_of_team" } } }, path);
    }
    t.match(await asks("/v1/usage"), { status: 200, body: { total: { calls: 1 } } });
    t.match(await asks("/v1/key"), { status: 200, body: { id: own.id } });
    t.match(await asks("/api/v1/key"), { status: 200 });
    t.match(await asks(`/v1/calls/${calls[2]}`), { status: 200 });
    for (const callId of calls.slice(0, 2))
      t.match(await asks(`/v1/calls/${callId}`), { status: 404 });
  });

  t.test("is no member for another team, nor for a stranger", async (t) => {
    const { owner, person } = team;
    const [another, stranger] = [await at.owner(), await at.person()];
    const routes = at.world.gateway.router
      .all()
      .filter(({ path }) => path.startsWith("/account/v1/teams/:team/"));
    for (const { method, path } of routes) {
      const below = path.slice("/account/v1".length).replaceAll(/:(?!team)\w+/g, owner.accountId);
      for (const [who, team] of [
        [person, another],
        [stranger, owner],
        [another, owner],
      ] as const) {
        const to = below.replace(":team", team.accountId);
        const { status } = await who.send(
          method as "GET" | "POST",
          to,
          method === "GET" ? undefined : {},
        );
        t.equal(status, 404, `${method} ${to}`);
      }
    }
  });

  t.test("is filtered for by the owner, in pages, sums and CSV", async (t) => {
    const { owner, id, own, calls, otherId } = team;
    const rows = async (filter: string) => {
      const { data } = (await owner.get(`/usage?${filter}`)).body;
      return data.map((one: { call_id: string }) => one.call_id);
    };
    t.strictSame(await rows(""), [...calls].reverse());
    t.strictSame(await rows(`member=${id}`), [calls[2]]);
    t.strictSame(await rows(`member=${id}&status=ok`), [calls[2]]);
    t.strictSame(await rows(`member=${id}&status=failed`), []);
    t.strictSame(await rows(`member=${id}&key=${own.id}`), [calls[2]]);
    t.strictSame(await rows(`member=${otherId}&key=${own.id}`), []);
    t.equal((await owner.get(`/usage/summary?by=model&member=${id}`)).body.total.calls, 1);
    t.equal(
      (await owner.get(`/usage/summary?by=model,key&member=${id}&status=ok`)).body.total.calls,
      1,
    );
    const csv = (await owner.get(`/usage.csv?member=${id}`)).text;
    t.strictSame(
      calls.map((callId) => csv.includes(callId)),
      [false, false, true],
    );
    t.equal((await owner.get(`/usage?member=${id}&limit=1`)).body.next, null, "no other page");
  });
});
