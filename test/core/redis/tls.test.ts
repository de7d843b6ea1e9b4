import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer } from "node:tls";
import t, { type Test } from "tap";
import { RedisClient } from "../../../core/redis/client.ts";
import { customerWith } from "../../support/billed.ts";
import { type Certificate, makeCertificate } from "../../support/certificate.ts";
import { freePort } from "../../support/free-port.ts";
import { startGateway } from "../../support/gateway.ts";
import { startRedisCluster, startRedisServer } from "../../support/redis.ts";
import { bodies, paths, post } from "../../support/requests.ts";
import { until } from "../../support/until.ts";

const HOST = "localhost";

/** Servers that name themselves by the name in their certificate. */
function startWithTls({ file }: Certificate, cluster: boolean) {
  const urls: string[] = [];
  const start = async () => {
    const port = await freePort();
    const keys = ["--tls-cert-file", file, "--tls-key-file", file.replace(/pem$/, "key")];
    const named = [
      ...["--tls-cluster", "yes", "--tls-ca-cert-file", file, "--cluster-announce-hostname", HOST],
      ...["--cluster-preferred-endpoint-type", "hostname"],
    ];
    const server = await startRedisServer({
      cluster,
      settings: [
        ...["--save", "", "--appendonly", "no", "--tls-port", `${port}`, ...keys],
        ...["--tls-auth-clients", "no", ...(cluster ? named : [])],
      ],
    });
    urls.push(`rediss://${HOST}:${port}`);
    return server;
  };
  return { urls, start };
}

async function assertServed(t: Test, hot: string | readonly string[], { file }: Certificate) {
  const env = { NODE_EXTRA_CA_CERTS: file };
  const gateway = await startGateway({ config: { stores: { hot } }, env });
  t.teardown(() => gateway.close());
  const customer = await customerWith(gateway, "1000");
  t.equal((await post(gateway, paths.chat, customer, bodies.chat())).status, 200);
}

t.test("a Redis with TLS, whose certificate an authority of the operator's signed", async (t) => {
  const certificate = await makeCertificate(t.testdir(), `DNS:${HOST}`);
  const { urls, start } = startWithTls(certificate, false);
  const server = await start();
  t.teardown(() => server.stop());
  await assertServed(t, urls[0] ?? "", certificate);
});

t.test("a cluster with TLS, one of whose names is unknown", async (t) => {
  const certificate = await makeCertificate(t.testdir(), `DNS:${HOST}`);
  const { urls, start } = startWithTls(certificate, true);
  const cluster = await startRedisCluster({ start });
  t.teardown(() => cluster.stop());
  await assertServed(t, ["rediss://no-such-host.invalid:6379", ...urls], certificate);
});

t.test("a server gets the name that it is called by", async (t) => {
  const certificate = await makeCertificate(t.testdir(), `DNS:${HOST}`);
  const names = new Set<string>();
  const server = createServer({
    ...certificate,
    SNICallback: (name, done) => {
      names.add(name);
      done(null);
    },
  });
  server.listen(0).on("tlsClientError", () => {});
  await once(server, "listening");
  const url = `rediss://${HOST}:${(server.address() as AddressInfo).port}`;
  for (const servers of [url, [url]]) {
    names.clear();
    const client = new RedisClient(servers, 5_000);
    client.connect();
    const said = () => client.call("PING").catch(String);
    await until("it is refused", async () => /self.signed/.test(`${await said()}`));
    t.strictSame([...names], [HOST]);
    client.disconnect();
  }
  server.close();
});

t.test("a client says why it is unreachable, without a password", async (t) => {
  const server = await startRedisServer();
  t.teardown(() => server.stop());
  await server.call("CONFIG", "SET", "requirepass", "right");
  const closed = await freePort();
  const wrong = `redis://:wrong-one@127.0.0.1:${server.port}`;
  const table = [
    [wrong, /WRONGPASS/],
    [[wrong], /WRONGPASS/],
    [`redis://127.0.0.1:${server.port}`, /NOAUTH/],
    [`redis://127.0.0.1:${closed}`, /ECONNREFUSED/],
    [[`redis://127.0.0.1:${closed}`], /ECONNREFUSED/],
    ["redis://no-such-host.invalid", /ENOTFOUND|EAI_AGAIN/],
  ] as const;
  for (const [servers, expected] of table) {
    const client = new RedisClient(servers, 5_000);
    client.connect();
    let said = "";
    await until(
      () => `${servers} is refused for ${expected}, not ${said}`,
      async () => {
        said = String(await client.call("GET", "a").catch(String));
        return expected.test(said) && /unreachable/.test(said);
      },
    );
    t.notMatch(said, /wrong-one/);
    client.disconnect();
  }
});
