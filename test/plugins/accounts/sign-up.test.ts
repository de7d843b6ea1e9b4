import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { signedUp } from "../../support/browser-session.ts";
import { startGateway, type TestGateway } from "../../support/gateway.ts";
import { startMailServer, type TestMailServer } from "../../support/mail-server.ts";

describe("sign-up", () => {
  let gateway: TestGateway;
  let mailServer: TestMailServer;
  before(async () => {
    mailServer = await startMailServer();
    const smtp = {
      host: "127.0.0.1",
      port: mailServer.port,
      from: "Tollgate <no-reply@tollgate.test>",
    };
    gateway = await startGateway({ plugins: { accounts: { smtp, proxies: 1 } } });
  });
  after(async () => {
    await gateway.close();
    await mailServer.stop();
  });

  it("leads by a mail in both languages to a key that works", async () => {
    const customer = await signedUp(gateway, mailServer);
    const [mail] = await mailServer.mailsTo(customer.email);
    assert.match(mail?.subject ?? "", /Xác minh.*Verify/);
    assert.ok(mail?.text?.includes(`${gateway.url}/dashboard/verify#token=`));
    const made = await customer.post("/keys", { name: "laptop" });
    assert.equal(made.status, 201, made.text);
    const models = await fetch(`${gateway.url}/v1/models`, {
      headers: { "x-api-key": made.body.key },
    });
    assert.equal(models.status, 200);
    const me = await customer.get("/me");
    assert.equal(me.body.email_verified, true);
    const revealed = await customer.post(`/keys/${made.body.id}/reveal`);
    assert.equal(revealed.body.key, made.body.key);
  });
});
