import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import { type Customer, createCustomer } from "../support/admin.ts";
import { ask, bodyOf } from "../support/ask.ts";
import type { TestGateway } from "../support/gateway.ts";
import { makeNextVersion } from "../support/next-version.ts";
import { startNginx } from "../support/nginx.ts";
import { startProduction } from "../support/production.ts";
import {
  assertReconciled,
  microVnd,
  noCallsInFlight,
  recordedCosts,
  runAdmin,
  spent,
} from "../support/proof.ts";
import { until } from "../support/until.ts";

const PATH = "/v1/messages";
const CREDIT_VND = 1_000_000;
const CLIENTS = 8;
/**
 * Between two calls of a client: about as long as a call takes, so that half of the clients are in a call at any moment,
 * and connections of nginx to a gateway are idle when it stops. Without pauses the calls take both cores.
 */
const PAUSE_MS = 100;
/** `npm test -- --thorough` sets more; see `test/support/test-processes.ts`. */
const isThorough = process.env["TOLLGATE_THOROUGH"] === "1";
const [RELOADS, ROLLS] = isThorough ? [10, 2] : [2, 1];
/** The default: a busy machine lets nginx stand still for seconds. It would then use a connection of before. */
const HANDOVER_SECONDS = 10;

/** The results of one client's calls. */
class Client {
  served = 0;
  readonly failures: string[] = [];

  constructor(
    private readonly url: string,
    readonly customer: Customer,
  ) {}

  async run(isOver: () => boolean): Promise<void> {
    for (let turn = 0; !isOver(); turn++) {
      await this.call(turn % 2 === 0).catch((error: unknown) => this.failures.push(String(error)));
      await delay(PAUSE_MS);
    }
  }

  private async call(stream: boolean): Promise<void> {
    const directive = { output_tokens: 5, event_delay_ms: 10 };
    const body = bodyOf(PATH, directive, { stream });
    const response = await ask(this.url, this.customer.key, PATH, body);
    const text = await response.text();
    const isWhole = text.includes(stream ? "message_stop" : '"type":"message"');
    if (response.status === 200 && isWhole) this.served++;
    else this.failures.push(`${new Date().toISOString()} ${response.status} ${text.slice(0, 300)}`);
  }
}

const NAME = `${RELOADS} reloads, and ${ROLLS} rolling upgrades and ways back, lose no call behind nginx`;

t.test(NAME, async (t) => {
  const next = makeNextVersion();
  const production = await startProduction({
    config: { limits: { handover_seconds: HANDOVER_SECONDS } },
  });
  // As shipped: below the handover of the gateways.
  const nginx = await startNginx(production.gateways, { keepaliveSeconds: 1 });
  t.teardown(async () => {
    await nginx.stop();
    await production.close();
    await next.remove();
  });
  const [first] = production.gateways;
  const clients: Client[] = [];
  for (let at = 0; at < CLIENTS; at++) {
    clients.push(new Client(nginx.url, await createCustomer(first!, { creditVnd: CREDIT_VND })));
  }
  const steps: string[] = [];
  let isOver = false;
  const running = clients.map((client) => client.run(() => isOver));
  const served = () => clients.reduce((sum, client) => sum + client.served, 0);
  const more = async () => {
    const before = served();
    await until("calls are served", () => served() >= before + CLIENTS);
  };
  const reload = async (gateway: TestGateway) => {
    const count = () => gateway.logs.split('"reloaded').length;
    const before = count();
    gateway.signal("SIGHUP");
    await until("it has reloaded", () => count() > before);
    await more();
  };
  /** As an operator would: one after the other, the next when the one before serves calls again. */
  const restart = async (gateway: TestGateway, root: string | undefined) => {
    steps.push(`${new Date().toISOString()} stop ${gateway.port}`);
    t.equal(await gateway.stop(), 0);
    steps.push(`${new Date().toISOString()} stopped`);
    gateway.runFrom(root);
    await more();
    await gateway.start();
    const servedBy = () => nginx.accessLog.split(`:${gateway.port}`).length;
    const before = servedBy();
    await until("it serves calls", () => servedBy() > before + CLIENTS);
  };
  await more();
  for (let at = 0; at < RELOADS; at++) await reload(production.gateways[at % 2]!);
  for (let at = 0; at < ROLLS; at++) {
    for (const gateway of production.gateways) await restart(gateway, next.root);
    for (const gateway of production.gateways) await restart(gateway, undefined);
  }
  isOver = true;
  await Promise.all(running);

  t.comment(`${served()} served`);
  t.strictSame(
    clients.flatMap((client) => client.failures),
    [],
    [...steps, nginx.errorLog.replace(/.*Connection refused.*\n/g, "")].join("\n"),
  );
  for (const gateway of production.gateways) await noCallsInFlight(gateway);
  for (const { customer, served } of clients) {
    const costs = await spent(first!, customer.accountId, CREDIT_VND);
    t.equal(await recordedCosts(first!, customer.accountId), costs);
    t.ok(costs > 0n && costs < microVnd(String(CREDIT_VND)) && served > 0);
  }
  await assertReconciled(first!);
  t.match(await runAdmin(first!, "quarantine", "list"), { code: 0, output: /^\[\]\s*$/ });
});
