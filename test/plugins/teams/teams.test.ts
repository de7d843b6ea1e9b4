import t from "tap";
import { admin } from "../../support/admin.ts";
import { signedUp } from "../../support/browser-session.ts";
import { until } from "../../support/until.ts";
import { type Person, PRICE_VND, pathOf, teamWorld } from "./world.ts";

/** Time until a member's end: later than a busy machine takes to send it. */
const SOON_MS = 15_000;

t.test("a team", async (t) => {
  const at = await teamWorld();
  t.teardown(() => at.close());

  /** The person's place in this team, in a list. */
  async function placeIn(team: Person, person: Person) {
    const { data } = (await person.get("/teams")).body;
    return data.filter((one: { team: string }) => one.team === team.accountId);
  }

  t.test("takes a new person, whom a mail invites", async (t) => {
    const owner = await at.owner();
    const email = `new-${owner.accountId}@tollgate.test`;
    const invited = await owner.post(`${pathOf(owner)}/members`, { email: email.toUpperCase() });
    t.match(invited.body, { email, role: "member", state: "invited", joined_at: null });
    await until("the mail is there", async () => {
      const mails = await at.world.mailServer.mailsTo(email);
      return mails.some(
        ({ text = "" }) => text.includes(owner.email) && text.includes("/dashboard/team"),
      );
    });
    const person = await signedUp(at.world, at.world.mailServer, email);
    t.match((await person.get("/teams")).body.data, [
      { team: owner.accountId, owner_email: owner.email, state: "invited" },
    ]);
    t.equal((await person.get(`${pathOf(owner)}/keys`)).status, 404, "not before he joins");
    t.equal((await person.post(`${pathOf(owner)}/join`)).status, 200);
    t.match((await person.get("/teams")).body.data, [{ state: "active" }]);
    t.match((await owner.get(`${pathOf(owner)}/members`)).body.data, [{ email, state: "active" }]);
    await until("a mail tells the owner", async () => {
      const mails = await at.world.mailServer.mailsTo(owner.email);
      return mails.some(({ subject = "" }) => subject.includes(`${email} has joined your team`));
    });
  });

  t.test("takes no one else", async (t) => {
    const [owner, person, stranger] = [await at.owner(), await at.person(), await at.person()];
    const invite = (email: string) => owner.post(`${pathOf(owner)}/members`, { email });
    t.equal((await invite(person.email)).status, 201);
    t.equal((await stranger.post(`${pathOf(owner)}/join`)).status, 404);
    t.equal((await owner.post(`${pathOf(owner)}/join`)).status, 404);
    t.equal((await invite(person.email)).code, "known_member");
    t.equal((await invite(owner.email)).code, "known_member");
    t.equal((await person.post(`${pathOf(owner)}/leave`)).status, 200);
    t.equal((await person.post(`${pathOf(owner)}/join`)).status, 404, "he declined");
    t.equal((await invite(person.email)).status, 201);
    t.equal((await person.post(`${pathOf(owner)}/join`)).status, 200);
  });

  t.test("pays for its members, from the wallet of its owner", async (t) => {
    const [owner, person] = [await at.owner(), await at.person()];
    const id = await at.join(owner, person);
    const key = await at.newKey(person, owner);
    await at.recorded(key, await at.call(key));
    t.match((await owner.get(`${pathOf(owner)}/members`)).body.data, [
      { id, spent_today_vnd: String(PRICE_VND), spent_month_vnd: String(PRICE_VND) },
    ]);
    t.equal((await person.get("/wallet")).body.balance_vnd, "0");
    t.match((await owner.get("/wallet")).body, { balance_vnd: String(10_000_000 - PRICE_VND) });
  });

  t.test("has keys that a reset of a password shows as used, and whose they are", async (t) => {
    const [owner, person] = [await at.owner(), await at.person()];
    await at.join(owner, person);
    const key = await at.newKey(person, owner);
    await at.recorded(key, await at.call(key));
    const keysOf = async ({ email }: Person) => {
      await person.post("/password/forgot", { email });
      const link = await at.world.mailServer.linkTo(email, "reset");
      const [, token] = link.split("#token=");
      const { data } = (await person.post("/password/reset/keys", { token })).body;
      return data.filter(({ prefix }: { prefix: string }) => key.key.startsWith(prefix));
    };
    const [ofMember] = await keysOf(person);
    t.match(ofMember, { last_used_at: /^20/, team: owner.email, of_member: false });
    const [ofOwner] = await keysOf(owner);
    t.match(ofOwner, { last_used_at: /^20/, team: null, of_member: true });
  });

  t.test("lists those who have left for its owner, whose calls stay in the books", async (t) => {
    const [owner, person] = [await at.owner(), await at.person()];
    const id = await at.join(owner, person);
    await owner.post(`${pathOf(owner)}/members/${id}/remove`);
    const list = async (query: string) =>
      (await owner.get(`${pathOf(owner)}/members${query}`)).body.data;
    t.strictSame(await list(""), []);
    t.match(await list("?removed=true"), [{ id, email: person.email, state: "removed" }]);
    t.equal((await owner.get(`${pathOf(owner)}/members?removed=perhaps`)).status, 400);
  });

  t.test("has a budget for each member, over all his keys", async (t) => {
    const [owner, person, other] = [await at.owner(), await at.person(), await at.person()];
    await at.join(owner, person, { limits: { day_vnd: 3 * PRICE_VND - 1, month_vnd: 900_000 } });
    await at.join(owner, other);
    const [one, two] = [await at.newKey(person, owner), await at.newKey(person, owner)];
    const third = await at.newKey(other, owner);
    t.equal((await at.call(one)).length, 36);
    t.equal((await at.call(two)).length, 36);
    t.equal(await at.call(one), "402 member_budget_exceeded");
    t.equal(await at.call(two), "402 member_budget_exceeded");
    t.equal((await at.call(third)).length, 36);
    t.match(await placeIn(owner, person), [
      {
        budgets: [
          { period: "day", limit_vnd: String(3 * PRICE_VND - 1), spent_vnd: String(2 * PRICE_VND) },
          { period: "month", spent_vnd: String(2 * PRICE_VND) },
        ],
      },
    ]);
  });

  t.test("counts the budget of a key beside that of its member", async (t) => {
    const [owner, person] = [await at.owner(), await at.person()];
    await at.join(owner, person, { limits: { total_vnd: 2 * PRICE_VND } });
    const small = await at.newKey(person, owner, { total_vnd: PRICE_VND });
    const free = await at.newKey(person, owner);
    t.equal((await at.call(small)).length, 36);
    t.equal(await at.call(small), "402 key_budget_exceeded");
    t.equal((await at.call(free)).length, 36);
    t.equal(await at.call(free), "402 member_budget_exceeded");
  });

  t.test("limits models and rates of a member, pauses and resumes him", async (t) => {
    const [owner, person] = [await at.owner(), await at.person()];
    const id = await at.join(owner, person, { limits: { models: ["req/*"] } });
    const keys = [await at.newKey(person, owner), await at.newKey(person, owner)] as const;
    const set = async (limits: object) => {
      const { status, body } = await owner.post(`${pathOf(owner)}/members/${id}`, { limits });
      t.equal(status, 200);
      return body;
    };
    t.equal(await at.call(keys[0], "claude-haiku-5-5"), "403 model_not_allowed");
    t.match(await set({ paused: true }), { state: "paused" });
    for (const key of keys) t.equal(await at.call(key), "403 member_paused");
    t.match(await set({ paused: false, calls_per_minute: 2 }), { state: "active" });
    t.equal((await at.call(keys[0])).length, 36);
    t.equal((await at.call(keys[1])).length, 36);
    t.equal(await at.call(keys[1]), "429 rate_limit_exceeded");
    t.match(await set({ calls_per_minute: null, calls_at_once: 1 }), {
      limits: { calls_at_once: 1 },
    });
    t.equal((await at.call(keys[0])).length, 36);
    t.equal((await at.call(keys[1])).length, 36, "the first call left");
    await set({ calls_at_once: null, ends_at: new Date(Date.now() + SOON_MS).toISOString() });
    await until("it has ended", async () => (await at.call(keys[0])) === "401 member_expired");
  });

  t.test("revokes the keys of a member who leaves; his calls stay", async (t) => {
    const [owner, person, other] = [await at.owner(), await at.person(), await at.person()];
    for (const [who, path] of [
      [person, (id: string) => () => owner.post(`${pathOf(owner)}/members/${id}/remove`)],
      [other, () => () => other.post(`${pathOf(owner)}/leave`)],
    ] as const) {
      const id = await at.join(owner, who);
      const key = await at.newKey(who, owner);
      const callId = await at.call(key);
      await at.recorded(key, callId);
      t.match((await path(id)()).body, { keys_revoked: 1 });
      t.equal(await at.call(key), "401 invalid_api_key");
      t.strictSame(await placeIn(owner, who), []);
      t.equal((await who.get(`${pathOf(owner)}/usage`)).status, 404);
      const { data } = (await owner.get(`/usage?member=${id}`)).body;
      t.strictSame(
        data.map((one: { call_id: string }) => one.call_id),
        [callId],
      );
    }
    const members = await admin(at.world, "GET", `/accounts/${owner.accountId}/team/members`);
    t.match(members.body, { list: [{ state: "removed" }, { state: "removed" }] });
  });

  t.test("lets a manager invite and set limits, and no more", async (t) => {
    const [owner, manager, person] = [await at.owner(), await at.person(), await at.person()];
    const own = await at.join(owner, manager, { role: "manager" });
    const path = `${pathOf(owner)}/members`;
    t.equal((await manager.post(path, { email: person.email })).status, 201);
    t.equal((await person.post(`${pathOf(owner)}/join`)).status, 200);
    const [, member] = (await manager.get(path)).body.data;
    t.match(member, { email: person.email });
    t.equal((await manager.post(`${path}/${member.id}`, { limits: { day_vnd: 7 } })).status, 200);
    for (const [what, to, body] of [
      ["his own limits", `${path}/${own}`, { limits: { day_vnd: null } }],
      ["a role", `${path}/${member.id}`, { role: "manager" }],
      ["another manager", path, { email: "x@tollgate.test", role: "manager" }],
      ["a removal", `${path}/${member.id}/remove`, {}],
    ] as const) {
      t.equal((await manager.post(to, body)).code, "wrong_team_role", what);
    }
    for (const [method, to, body] of [
      ["GET", path],
      ["POST", path, { email: "y@tollgate.test" }],
      ["POST", `${path}/${member.id}`, { limits: { day_vnd: null } }],
      ["POST", `${path}/${own}/remove`, {}],
    ] as const) {
      t.equal((await person.send(method, to, body)).code, "wrong_team_role", `${method} ${to}`);
    }
  });

  t.test("is shown to operators, who remove a member by his address", async (t) => {
    const [owner, person] = [await at.owner(), await at.person()];
    await at.join(owner, person);
    const key = await at.newKey(person, owner);
    const team = `/accounts/${owner.accountId}/team`;
    t.match((await admin(at.world, "GET", team)).body, { active: 1, invited: 0 });
    const remove = `${team}/members/${encodeURIComponent(person.email)}/remove`;
    t.match((await admin(at.world, "POST", remove, {})).body, { keys_revoked: 1 });
    t.equal(await at.call(key), "401 invalid_api_key");
    t.match((await admin(at.world, "GET", team)).body, { active: 0, removed: 1 });
    t.equal((await admin(at.world, "POST", remove, {})).status, 404);
  });

  t.test("pauses the keys of a member whose own account is suspended", async (t) => {
    const [owner, person] = [await at.owner(), await at.person()];
    await at.join(owner, person);
    const key = await at.newKey(person, owner);
    t.equal((await at.call(key)).length, 36);
    const change = async (to: "suspend" | "resume") => {
      const path = `/accounts/${person.accountId}/${to}`;
      t.equal((await admin(at.world, "POST", path, { reason: "abuse" })).status, 200);
    };
    await change("suspend");
    t.match(await at.call(key), /^40[13] /);
    await change("resume");
    t.equal((await at.call(key)).length, 36);
  });

  t.test("takes no change from a manager who is paused, or whose time is over", async (t) => {
    const [owner, manager] = [await at.owner(), await at.person()];
    const id = await at.join(owner, manager, { role: "manager" });
    const members = `${pathOf(owner)}/members`;
    const set = async (limits: object) =>
      t.equal((await owner.post(`${members}/${id}`, { limits })).status, 200);
    const invite = (email: string) => manager.post(members, { email });
    t.equal((await invite("one@tollgate.test")).status, 201);
    await set({ paused: true });
    t.equal((await invite("two@tollgate.test")).code, "wrong_team_role");
    await set({ paused: false, ends_at: new Date(at.world.now() + 60_000).toISOString() });
    t.equal((await invite("two@tollgate.test")).status, 201);
    at.world.pass(61_000);
    t.equal((await invite("three@tollgate.test")).code, "wrong_team_role");
  });

  t.test("loses the keys of a member whose own account is closed", async (t) => {
    const [owner, person] = [await at.owner(), await at.person()];
    await at.join(owner, person);
    const key = await at.newKey(person, owner);
    t.equal((await at.call(key)).length, 36);
    const close = `/accounts/${person.accountId}/close`;
    t.equal((await admin(at.world, "POST", close, { reason: "asked for it" })).status, 200);
    t.equal(await at.call(key), "401 invalid_api_key");
  });

  t.test("asks for the password before it is opened further, not before a pause", async (t) => {
    const [owner, person] = [await at.owner(), await at.person()];
    const id = await at.join(owner, person);
    const member = `${pathOf(owner)}/members/${id}`;
    at.world.pass(16 * 60_000);
    t.equal((await owner.post(member, { limits: { day_vnd: 5 } })).code, "password_required");
    t.equal((await owner.post(member, { limits: {} })).status, 400);
    const invitation = { email: "z@tollgate.test" };
    t.equal((await owner.post(`${pathOf(owner)}/members`, invitation)).code, "password_required");
    t.equal((await person.post(`${pathOf(owner)}/keys`, { name: "k" })).code, "password_required");
    t.equal((await owner.post(member, { limits: { paused: true } })).status, 200);
    t.equal((await owner.post(`${member}/remove`)).status, 200);
  });
});
