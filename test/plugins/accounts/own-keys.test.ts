import t from "tap";
import { BrowserSession, signedUp } from "../../support/browser-session.ts";
import { tokenIn } from "../../support/mail-server.ts";
import { until } from "../../support/until.ts";
import { bootInProcess } from "./in-process.ts";

t.test("a reset that revokes the keys revokes all of them", async (t) => {
  const world = await bootInProcess();
  t.teardown(() => world.close());
  const customer = await signedUp(world, world.mailServer);
  const { email, accountId } = customer;
  for (const name of ["laptop", "server", "thief"]) await customer.post("/keys", { name });
  const { keys, accounts } = world.gateway.services;
  const statuses = async () => (await accounts.keys(accountId)).map(({ status }) => status);

  /** Resets the password while `failing` fails for one key. */
  async function reset(failing: (keyId: string) => Promise<boolean>) {
    const visitor = new BrowserSession(world);
    const mails = async () =>
      (await world.mailServer.mailsTo(email, 0)).filter(({ text }) => text?.includes("/reset#"));
    const before = (await mails()).length;
    await visitor.post("/password/forgot", { email });
    await until("the link is mailed", async () => (await mails()).length > before);
    const token = tokenIn((await mails()).at(-1));
    const { revoke } = keys;
    let isFirst = true;
    Object.assign(keys, {
      async revoke(keyId: string) {
        if (!isFirst) return revoke.call(keys, keyId);
        isFirst = false;
        return failing(keyId);
      },
    });
    const wanted = { token, password: "mật khẩu mới", revoke_keys: true };
    const reply = await visitor.post("/password/reset", wanted);
    Object.assign(keys, { revoke });
    return reply;
  }

  t.test("also if the ledger fails for one, and is no success then", async (t) => {
    const { status } = await reset(async () => {
      throw new Error("the ledger failed");
    });
    t.ok(status >= 500, `${status}`);
    t.strictSame((await statuses()).sort(), ["active", "revoked", "revoked"]);
  });

  t.test("also if the hold store fails for one", async (t) => {
    await customer.signIn(email, "mật khẩu mới");
    await customer.post("/keys", { name: "new" });
    const { revoke } = keys;
    const { status, body } = await reset(async (keyId) => {
      await revoke.call(keys, keyId);
      throw new Error("the hold store is silent");
    });
    t.strictSame([status, body], [200, { revoked_keys: 2 }]);
    t.strictSame([...new Set(await statuses())], ["revoked"]);
  });
});
