import { once } from "node:events";
import { type AddressInfo, connect as connectTcp, createServer } from "node:net";
import { TLSSocket } from "node:tls";
import t from "tap";
import { preflight } from "../../../core/boot/preflight.ts";
import { connect } from "../../../core/database/client.ts";
import { grantsOf } from "../../../core/database/ping.ts";
import type { Config } from "../../../core/plugin/config.ts";
import { customerWith } from "../../support/billed.ts";
import { type Certificate, makeCertificate } from "../../support/certificate.ts";
import { startGateway } from "../../support/gateway.ts";
import { recordedLog } from "../../support/log.ts";
import { startPostgres } from "../../support/postgres.ts";
import { bodies, paths, post } from "../../support/requests.ts";

/** A proxy with a certificate before a Postgres without one. `undefined`: it offers no TLS. */
async function startEncrypted(target: number, certificate: Certificate | undefined) {
  const proxy = createServer((client) => {
    client.on("error", () => client.destroy());
    client.once("data", () => {
      client.write(certificate ? "S" : "N");
      const served = certificate
        ? new TLSSocket(client, { isServer: true, ...certificate })
        : client;
      const server = connectTcp(target, "127.0.0.1");
      served.on("error", () => server.destroy()).pipe(server);
      server.on("error", () => served.destroy()).pipe(served);
    });
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  return { port: (proxy.address() as AddressInfo).port, stop: () => void proxy.close() };
}

t.test("TLS to Postgres, by sslmode", async (t) => {
  const database = await startPostgres();
  const folder = t.testdir();
  const [ofName, ofAddress] = await Promise.all(
    ["DNS:localhost", "IP:127.0.0.1"].map((name) => makeCertificate(folder, name)),
  );
  const real = Number(new URL(database.url).port);
  const servers = {
    "a name": await startEncrypted(real, ofName),
    "an address": await startEncrypted(real, ofAddress),
    "no TLS": await startEncrypted(real, undefined),
  };
  t.teardown(async () => {
    for (const server of Object.values(servers)) server.stop();
    await database.stop();
  });

  const urlOf = (server: keyof typeof servers, host: string, settings: string) => {
    const url = new URL(database.url);
    url.host = `${host}:${servers[server].port}`;
    url.search = settings;
    return url.href;
  };
  const table: [server: keyof typeof servers, host: string, settings: string, outcome: RegExp][] = [
    ["a name", "localhost", "sslmode=require", /^encrypted$/],
    ["a name", "127.0.0.1", "sslmode=prefer", /^encrypted$/],
    ["a name", "localhost", "sslmode=verify-full", /self.signed certificate/],
    ["a name", "localhost", "sslrootcert=system", /self.signed certificate/],
    ["a name", "localhost", `sslmode=verify-full&sslrootcert=${ofName?.file}`, /^encrypted$/],
    ["a name", "localhost", `sslmode=verify-full&sslrootcert=${ofAddress?.file}`, /self.signed/],
    ["a name", "localhost", `sslmode=require&sslrootcert=${ofAddress?.file}`, /self.signed/],
    [
      "a name",
      "127.0.0.1",
      `sslmode=verify-full&sslrootcert=${ofName?.file}`,
      /IP: 127.0.0.1 is not/,
    ],
    ["a name", "127.0.0.1", `sslmode=verify-ca&sslrootcert=${ofName?.file}`, /^encrypted$/],
    [
      "an address",
      "127.0.0.1",
      `sslmode=verify-full&sslrootcert=${ofAddress?.file}`,
      /^encrypted$/,
    ],
    [
      "an address",
      "localhost",
      `sslmode=verify-full&sslrootcert=${ofAddress?.file}`,
      /Host: localhost. is not/,
    ],
    ["no TLS", "localhost", "sslmode=prefer", /^plain$/],
    ["no TLS", "localhost", "sslmode=require", /offers no TLS/],
    ["no TLS", "localhost", `sslmode=verify-full&sslrootcert=${ofName?.file}`, /offers no TLS/],
    ["a name", "localhost", "sslmode=verify", /sslmode must be one of .*verify-full$/],
    ["a name", "localhost", "ssl=true", /write sslmode/],
    [
      "a name",
      "localhost",
      "sslmode=verify-full&sslrootcert=/none.pem",
      /sslrootcert: ENOENT.*none/,
    ],
  ];
  for (const [server, host, settings, outcome] of table) {
    t.test(`${server}, called ${host}: ${settings.replaceAll(folder, "")}`, async (t) => {
      const url = urlOf(server, host, settings);
      const kind = server === "no TLS" ? "plain" : "encrypted";
      const pinged = await grantsOf(url, 10_000, 30_000).then(() => kind, String);
      t.match(pinged, outcome);
      const queried = async () => {
        const { log } = recordedLog();
        const sql = connect({ server: { url }, connectionsMax: 1, statementTimeoutMs: 0, log });
        try {
          t.strictSame(await sql.query("select 7 as n"), [{ n: 7 }]);
          return kind;
        } finally {
          await sql.end(1);
        }
      };
      t.match(await queried().catch(String), outcome);
    });
  }

  t.test("a gateway keeps its ledger there", async (t) => {
    const ledger = urlOf("a name", "localhost", `sslmode=verify-full&sslrootcert=${ofName?.file}`);
    const gateway = await startGateway({ config: { stores: { ledger } } });
    t.teardown(() => gateway.close());
    const customer = await customerWith(gateway, "1000");
    const answer = await post(gateway, paths.chat, customer, bodies.chat());
    t.equal(answer.status, 200);
  });

  t.test("a start warns if a server elsewhere is not checked", async (t) => {
    const warnings = (host: string, settings: string) => {
      const ledger = urlOf("a name", host, settings);
      const listen = { host: "127.0.0.1", port: 0, workers: 1 };
      const stores = { data: folder, hot: "embedded", ledger, connections: 3 };
      return preflight({ listen, admin: {}, stores } as unknown as Config, 0);
    };
    for (const mode of ["require", "prefer"]) {
      t.match(await warnings("0.0.0.0", `sslmode=${mode}`), [/sslmode=verify-full.*sslrootcert/]);
      t.strictSame(await warnings("localhost", `sslmode=${mode}`), []);
    }
    const checked = `sslmode=verify-ca&sslrootcert=${ofName?.file}`;
    t.strictSame(await warnings("0.0.0.0", checked), []);
  });
});
