import { execFile } from "node:child_process";
import {
  copyFileSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import t from "tap";
import { packageRoot } from "../../core/process/root.ts";
import {
  admin,
  type Customer,
  committedWallet,
  createCustomer,
  credit,
  wallet,
} from "../support/admin.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { assertUnavailable, callMicroVnd, callOnce, untilServed } from "../support/outage.ts";
import {
  installedPostgres,
  type PostgresServer,
  startPostgresServer,
} from "../support/postgres-server.ts";
import { assertReconciled, microVnd } from "../support/proof.ts";
import { type RedisServer, startRedisServer } from "../support/redis.ts";
import { get } from "../support/requests.ts";
import { startTestSimulator, type TestSimulator } from "../support/simulator.ts";
import { until } from "../support/until.ts";

const CREDIT_VND = 1_000;
const LATER_VND = 500;
const PAGE = readFileSync(join(packageRoot, "config/operating/backup.md"), "utf8");

/** The commands of a block in the page on backups, such as "```sh backup". */
function commands(block: string): string {
  const found = new RegExp(`^\`\`\`sh ${block}\\n([^]*?)^\`\`\``, "m").exec(PAGE)?.[1];
  if (found === undefined) throw new Error(`backup.md has no block ${block}`);
  return found;
}

t.test("the drill of the page on backups", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-drill-"));
  let redis: RedisServer;
  let postgres: PostgresServer;
  let simulator: TestSimulator;
  let gateway: TestGateway;
  let customer: Customer;
  let spentMicroVnd = 0n;
  let ledgerUrl = "";
  /** Names the failpoint of the gateway's next start, if it has one. */
  const armed: Record<string, string> = {};

  t.before(async () => {
    [redis, postgres, simulator] = await Promise.all([
      startRedisServer(),
      installedPostgres().then((build) => startPostgresServer({ build })),
      startTestSimulator(),
    ]);
    ledgerUrl = postgres.url.replace(/postgres@(.*)postgres$/, "tollgate@$1tollgate");
    await shell(commands("new"));
    const stores = { hot: redis.url, ledger: ledgerUrl };
    gateway = await startGateway({ simulator, config: { stores }, env: armed });
    customer = await createCustomer(gateway, { creditVnd: CREDIT_VND });
  });
  t.teardown(async () => {
    await gateway.close();
    await Promise.all([redis.stop(), postgres.stop(), simulator.stop()]);
    rmSync(folder, { recursive: true, force: true });
  });

  /** Runs commands as an operator would; rejects with their output if one fails. */
  function shell(script: string): Promise<string> {
    const env = {
      ...process.env,
      PATH: [postgres.binaries, process.env["PATH"] ?? ""].join(delimiter),
      LEDGER_URL: ledgerUrl,
      RESTORED_URL: `${ledgerUrl}_restored`,
      MAINTENANCE_URL: postgres.url,
      REDIS_URL: redis.url,
      npm_node_execpath: process.execPath,
      ...(gateway && { GATEWAY_URL: gateway.url, GATEWAY_ADMIN_TOKEN: gateway.adminToken }),
    };
    // `npm run` needs the package's folder, and the backups stay out of it.
    const inFolder = script.replaceAll(/"(\w+\.(?:dump|rdb))"/g, `"${folder}/$1"`);
    return new Promise((resolve, reject) => {
      execFile("bash", ["-ec", inFolder], { env, cwd: packageRoot }, (error, stdout, stderr) => {
        if (error) reject(new Error(`${error.message}\n${stdout}${stderr}`));
        else resolve(stdout + stderr);
      });
    });
  }

  async function served(calls: number): Promise<void> {
    for (let turn = 0; turn < calls; turn += 1) {
      await untilServed(gateway, customer, turn);
      spentMicroVnd += callMicroVnd(turn);
    }
  }

  const balance = async () =>
    microVnd((await committedWallet(gateway, customer.accountId)).balance);
  const ready = () => get(gateway, "/readyz", undefined);
  const listens = () =>
    until("it listens", () =>
      ready().then(
        () => true,
        () => false,
      ),
    );
  const wentBack = async () =>
    /^tollgate_ledger_went_back (\d)$/m.exec(
      await (await fetch(`${gateway.url}/metrics`)).text(),
    )?.[1];

  async function refused(): Promise<void> {
    // At first it may be unready for another reason, as on a busy machine.
    await until("the gateway notices", async () => {
      const { status, json } = await ready();
      return status === 503 && /restored from a backup/.test(json.reason);
    });
    t.match((await ready()).json.reason, /restored from a backup.*npm run admin -- restore/);
    t.equal(await wentBack(), "1");
    for (const turn of [0, 1]) assertUnavailable(await callOnce(gateway, customer, turn), turn);
  }

  /**
   * Restores a backup under the running gateway, after later calls and a credit. Returns the
   * wallet's balance in the backup, in µđ.
   */
  async function restoredWhileRunning(): Promise<bigint> {
    const backedUp = await balance();
    await shell(commands("backup"));
    await served(3);
    await credit(gateway, customer.accountId, LATER_VND);
    await balance();
    await restored();
    return backedUp;
  }

  async function restored(): Promise<void> {
    await shell(commands("restore"));
    await shell(commands("swap"));
  }

  async function opened(balanceMicroVnd: bigint): Promise<void> {
    await shell(commands("open"));
    t.equal(await wentBack(), "0");
    await until("it is ready", async () => (await ready()).status === 200);
    const { available, held, pending } = await wallet(gateway, customer.accountId);
    t.equal(microVnd(available), balanceMicroVnd, "the wallet has what the backup has");
    t.strictSame([held, pending], ["0", "0"]);
    spentMicroVnd = 0n;
    await served(2);
    t.equal(await balance(), balanceMicroVnd - spentMicroVnd);
    await assertReconciled(gateway);
  }

  t.test("a gateway that starts on a restored ledger sells only what the ledger has", async (t) => {
    await served(5);
    const backedUp = await balance();
    await shell(commands("backup"));
    await served(5);
    await credit(gateway, customer.accountId, LATER_VND);
    await balance();
    t.equal(await gateway.stop(), 0);
    await restored();
    const started = gateway.start();
    await listens();
    await refused();
    await until("the log says why", () =>
      /the ledger went back; new calls get 503/.test(gateway.logs),
    );
    const unconfirmed = await admin(gateway, "POST", "/restore", {});
    t.equal(unconfirmed.status, 400, "a restore must be confirmed");
    await opened(backedUp);
    await started;
    const { body } = await admin(gateway, "GET", "/actions?limit=10");
    t.match(JSON.stringify(body), /POST \/admin\/v1\/restore/, "the audit trail has it");
  });

  t.test("a gateway that runs notices a ledger that lost its last commits", async () => {
    const backedUp = await restoredWhileRunning();
    await refused();
    await opened(backedUp);
  });

  t.test("a restore that dies between its steps is done again", async (t) => {
    const backedUp = await restoredWhileRunning();
    for (const point of ["restore.epochs", "restore.accepted"]) {
      await gateway.kill9();
      armed["TOLLGATE_FAILPOINT"] = point;
      // It may be ready for a moment before it dies.
      const started = gateway.start().catch(() => {});
      await listens();
      await refused();
      await t.rejects(admin(gateway, "POST", "/restore", { confirmed: true }));
      await started;
      t.equal(await gateway.ended(), null, "it was killed");
    }
    delete armed["TOLLGATE_FAILPOINT"];
    await gateway.start();
    const { available } = await wallet(gateway, customer.accountId);
    t.equal(microVnd(available), backedUp, "only what the backup has is for sale");
    await opened(backedUp);
  });

  t.test("a backup that is not whole leaves the ledger as it is", async (t) => {
    await shell(commands("backup"));
    const dump = join(folder, "ledger.dump");
    const { body } = await admin(gateway, "GET", "/backups");
    const [newest] = body["list"] as { bytes: number }[];
    t.equal(newest?.bytes, statSync(dump).size, "it is recorded");
    truncateSync(dump, statSync(dump).size >> 1);
    await t.rejects(shell(commands("restore")), /pg_restore: error/);
    spentMicroVnd = 0n;
    const before = await balance();
    await served(1);
    t.equal(await balance(), before - spentMicroVnd);
  });

  t.test("with compose, the commands run in the container of Postgres", async (t) => {
    // Instead of Docker: runs the command with the variables of a container, in which Postgres is local, and the role
    // that the image made is a superuser.
    const docker = join(folder, "docker");
    const { port } = postgres;
    writeFileSync(
      docker,
      `#!/bin/sh\n[ "$1 $2 $3 $4" = "compose exec -T postgres" ] && shift 4 && PGHOST=127.0.0.1 PGPORT=${port} exec "$@"\n`,
      { mode: 0o755 },
    );
    await shell(`psql "$MAINTENANCE_URL" --command="alter role tollgate superuser"`);
    const inContainer = (block: string) =>
      shell(`PATH="${folder}:$PATH"\n${commands("compose")}${commands(block)}`);
    const before = await balance();
    for (const block of ["backup", "restore", "swap"]) await inContainer(block);
    // Nothing was lost, so there is nothing to accept.
    spentMicroVnd = 0n;
    await served(1);
    t.equal(await balance(), before - spentMicroVnd);
    await shell(`psql "$MAINTENANCE_URL" --command="alter role tollgate nosuperuser"`);
  });

  t.test("a restored Redis sells only what the ledger has", async (t) => {
    await shell(commands("redis-backup"));
    spentMicroVnd = 0n;
    const before = await balance();
    await served(3);
    t.equal(await gateway.stop(), 0);
    await redis.kill();
    copyFileSync(join(folder, "redis.rdb"), join(redis.folder, "dump.rdb"));
    await redis.start();
    await gateway.start();
    const { available } = await wallet(gateway, customer.accountId);
    t.equal(microVnd(available), before - spentMicroVnd);
    await served(1);
    t.equal(await balance(), before - spentMicroVnd);
    await assertReconciled(gateway);
  });
});
