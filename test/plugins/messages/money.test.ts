import t from "tap";
import { dayOf, endOfDay } from "../../../core/process/vietnam-day.ts";
import { lowBalanceTexts, topUpTexts } from "../../../plugins/messages/money-texts.ts";
import { admin, committedWallet, credit } from "../../support/admin.ts";
import { ask, bodyOf } from "../../support/ask.ts";
import { signedUp } from "../../support/browser-session.ts";
import { startTestSimulator } from "../../support/simulator.ts";
import { until } from "../../support/until.ts";
import { bootInProcess, type GatewayInProcess } from "../accounts/in-process.ts";

type Customer = Awaited<ReturnType<typeof signedUp>>;

const PATH = "/v1/chat/completions";
const BODY = bodyOf(PATH, { output_tokens: 1 }, { model: "req/gpt-5.6-sol", stream: false });
/** Of a call. */
const PRICE_VND = 1_150;
const LOOK_MS = 15_000;

t.test("a mail says what a top-up is", async (t) => {
  for (const [kind, reason, vi, en] of [
    ["transfer", "TG1A2B3C", "Chuyển khoản (TG1A2B3C).", "Bank transfer (TG1A2B3C)."],
    ["transfer", null, "Chuyển khoản.", "Bank transfer."],
    ["credit", "Quà", "Nhà vận hành cộng tiền (Quà).", "Credit from the operator (Quà)."],
    ["voucher", "9ABC…", "Mã quà tặng (9ABC…).", "Voucher (9ABC…)."],
    ["bonus", "Tết", "Thưởng nạp tiền (Tết).", "Top-up bonus (Tết)."],
  ] as const) {
    const amounts = { amountMicroVnd: 5e10, balanceMicroVnd: 7e10 };
    const topUp = { accountId: "", entry: "1", ...amounts, kind, reason };
    const texts = topUpTexts(topUp, "https://a.test");
    t.match(texts.vi.paragraphs[0], `vào tài khoản của bạn: ${vi} Số dư sau đó: 70.000 đ.`);
    t.match(texts.en.paragraphs[0], `to your account: ${en} Balance after it: 70,000 đ.`);
  }
});

t.test("a mail leads to the page for top-ups only if there is one", async (t) => {
  const paragraphs = (canTopUp: boolean) => {
    const texts = lowBalanceTexts(1e9, 2e9, { url: "https://a.test", canTopUp });
    return [texts.vi, texts.en].map(({ paragraphs }) => paragraphs.join(" "));
  };
  const [vi, en] = paragraphs(true);
  t.match(vi, "Nạp tiền tại: https://a.test/dashboard/top-up Bạn");
  t.match(en, "Top up here: https://a.test/dashboard/top-up You");
  const [viWithout, enWithout] = paragraphs(false);
  t.match(viWithout, "Xem số dư tại: https://a.test/dashboard Bạn");
  t.match(enWithout, "See your balance here: https://a.test/dashboard You");
});

t.test("mails about money begin with a reload that adds accounts", async (t) => {
  const world = await bootInProcess(1, {}, "accounts");
  t.teardown(() => world.close());
  await world.gateway.reload(world.config);
  const { accountId } = await signedUp(world, world.mailServer);
  await until("a top-up is mailed", async () => {
    await credit(world, accountId, 1);
    world.pass(LOOK_MS);
    return world.mailServer.mails.some(({ subject = "" }) => subject.includes("vào số dư"));
  });
});

t.test("mails about money", async (t) => {
  const simulator = await startTestSimulator();
  const world: GatewayInProcess = await bootInProcess(simulator.port);
  t.teardown(() => Promise.all([world.close(), simulator.stop()]));
  const { mailServer } = world;

  async function customerWith(vnd: number, limits: object = {}) {
    const customer = await signedUp(world, mailServer);
    await credit(world, customer.accountId, vnd);
    const { key, id } = (await customer.post("/keys", { name: "server", limits })).body;
    return Object.assign(customer, { key: String(key), keyId: String(id) });
  }

  async function call({ key }: { readonly key: string }): Promise<number> {
    const response = await ask(world.url, key, PATH, BODY);
    await response.text();
    return response.status;
  }

  const subjects = ({ email }: Pick<Customer, "email">) =>
    mailServer.mails
      .filter(({ to }) => JSON.stringify(to).includes(email))
      .map(({ subject = "" }) => subject.split(" / ")[0] ?? "")
      .filter((subject) => /Số dư còn|vào số dư|ngân sách/.test(subject));

  /** Resolves after a look that began after all calls were committed. */
  async function looked(...customers: readonly Customer[]): Promise<void> {
    for (const { accountId } of customers) await committedWallet(world, accountId);
    const marker = await signedUp(world, mailServer);
    await credit(world, marker.accountId, 1);
    world.pass(LOOK_MS);
    await until("the look has written", () => subjects(marker).length > 0);
    await until("nothing waits", async () => {
      const { body } = await admin(world, "GET", "/messages");
      return (body["list"] as unknown[]).length === 0;
    });
  }

  // The first look begins at the end of the ledger.
  t.before(async () => {
    const first = await signedUp(world, mailServer);
    await until("a look has begun", async () => {
      await credit(world, first.accountId, 1);
      world.pass(LOOK_MS);
      return subjects(first).length > 0;
    });
  });

  t.test("a top-up, then a low balance once until it was above the threshold again", async (t) => {
    const customer = await customerWith(21_000);
    await looked(customer);
    t.strictSame(subjects(customer), ["Đã cộng 21.000 đ vào số dư"]);
    const [topUp] = (await mailServer.mailsTo(customer.email)).slice(-1);
    t.match(topUp?.text, "cộng vào tài khoản của bạn: Nhà vận hành cộng tiền. Số dư");
    t.match(topUp?.text, "added to your account: Credit from the operator. Balance");
    t.equal(await call(customer), 200);
    await looked(customer);
    t.equal(await call(customer), 200);
    await looked(customer);
    t.strictSame(subjects(customer).slice(1), ["Số dư còn 19.850 đ"]);
    await credit(world, customer.accountId, 1_500);
    await looked(customer);
    t.equal(await call(customer), 200);
    await looked(customer);
    t.strictSame(subjects(customer).slice(2), ["Đã cộng 1.500 đ vào số dư", "Số dư còn 19.050 đ"]);
    const [mail] = (await mailServer.mailsTo(customer.email)).slice(-1);
    t.match(mail?.text, /\/dashboard\/top-up\n[\s\S]*below the 20,000 đ at which/);
    t.ok(mail?.headers.has("list"), "can be switched off by the mail program");
  });

  t.test("by the customer's own threshold, or not at all", async (t) => {
    const [own, none] = [await customerWith(100_000), await customerWith(5_000)];
    const set = await own.post("/messages", { low_balance_vnd: "99000" });
    t.strictSame([set.status, set.body.low_balance_vnd], [200, "99000"]);
    t.equal((await own.post("/messages", { low_balance_vnd: "-1" })).status, 400);
    await none.post("/messages", { off: ["low-balance", "top-up"] });
    await call(own);
    await call(none);
    await looked(own, none);
    // One look may write both.
    t.strictSame(subjects(own).sort(), ["Số dư còn 98.850 đ", "Đã cộng 100.000 đ vào số dư"]);
    t.strictSame(subjects(none), []);
    t.equal((await own.post("/messages", { low_balance_vnd: null })).body.low_balance_vnd, null);
  });

  t.test("a budget at 80 % and when it is used up, in each period again", async (t) => {
    const limits = { day_vnd: 5 * PRICE_VND + 100 };
    const customer = await customerWith(100_000, limits);
    const ofBudget = () => subjects(customer).filter((subject) => subject.includes("ngân sách"));
    for (let calls = 0; calls < 3; calls++) t.equal(await call(customer), 200);
    await looked(customer);
    t.strictSame(ofBudget(), []);
    for (let calls = 0; calls < 2; calls++) t.equal(await call(customer), 200);
    await looked(customer);
    t.strictSame(ofBudget(), ["Khóa API server đã dùng hơn 80 % ngân sách"]);
    // 100 đ are left, too little for a call.
    t.equal(await call(customer), 402);
    await until("the refusal is counted", async () => {
      await looked(customer);
      return ofBudget().length > 1;
    });
    t.strictSame(ofBudget().slice(1), ["Khóa API server còn quá ít ngân sách"]);
    const [mail] = (await mailServer.mailsTo(customer.email)).slice(-1);
    t.match(mail?.text, /has too little left of its budget of a day: 5,750 đ \/ 5,850 đ/);
    world.pass(endOfDay(dayOf(new Date(world.now()))).getTime() - world.now());
    for (let calls = 0; calls < 5; calls++) t.equal(await call(customer), 200);
    await looked(customer);
    t.strictSame(ofBudget().slice(2), ["Khóa API server đã dùng hơn 80 % ngân sách"]);
  });
});
