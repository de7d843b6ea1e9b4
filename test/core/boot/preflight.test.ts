import { once } from "node:events";
import { chmodSync, mkdirSync, statSync } from "node:fs";
import { type AddressInfo, connect, createServer, Server, type Socket } from "node:net";
import { join } from "node:path";
import postgres from "postgres";
import t, { type Test } from "tap";
import { preflight, reachFaults } from "../../../core/boot/preflight.ts";
import type { Config } from "../../../core/plugin/config.ts";
import { startPostgresServer } from "../../support/postgres-server.ts";
import { startRedisServer } from "../../support/redis.ts";
import { until } from "../../support/until.ts";
import { folderOf } from "../config/files.ts";

/** The port of the discard service, which no machine runs. */
const NOTHING = "127.0.0.1:9";

type Change = {
  readonly listen?: object;
  readonly admin?: object;
  readonly stores?: {
    readonly data?: string;
    readonly hot?: unknown;
    readonly ledger?: string;
    readonly connections?: number;
  };
};

async function check(
  t: Test,
  { listen, admin, stores }: Change,
  checks: (config: Config) => Promise<readonly string[]> = (config) => preflight(config, 0),
): Promise<readonly string[]> {
  const data = stores?.data ?? join(await folderOf(t, {}), "data");
  const config = {
    listen: { host: "127.0.0.1", port: 0, workers: 1, ...listen },
    admin: { ...admin },
    stores: {
      ...{ hot: "embedded", ledger: "embedded", connections: 10 },
      ...stores,
      data,
    },
  };
  return checks(config as Config);
}

async function portInUse(t: Test, onConnection?: (socket: Socket) => void): Promise<number> {
  const server = createServer(onConnection);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** Replies to any request with this text. */
const replying = (text: string) => (socket: Socket) =>
  socket.once("data", () => {
    const head = `HTTP/1.1 200 OK\r\ncontent-length: ${text.length}\r\nconnection: close`;
    socket.end(`${head}\r\n\r\n${text}`);
  });

t.test("the data folder is its owner's alone", async (t) => {
  const root = await folderOf(t, {});
  const modeOf = (folder: string) => statSync(folder).mode & 0o777;
  const made = join(root, "made");
  await check(t, { stores: { data: made } });
  t.equal(modeOf(made), 0o700);
  // Made by hand. A group that the operator gave it to, such as that of backups, keeps its rights.
  const found = join(root, "found");
  mkdirSync(found);
  chmodSync(found, 0o755);
  await check(t, { stores: { data: found } });
  t.equal(modeOf(found), 0o750);
});

t.test("a folder that all users share is refused, and stays as it is", async (t) => {
  const shared = join(await folderOf(t, {}), "tmp");
  mkdirSync(shared);
  chmodSync(shared, 0o1777);
  await t.rejects(check(t, { stores: { data: shared } }), {
    message: `stores.data: expected a folder of the gateway's own; all users of the machine share ${shared}.`,
  });
  t.equal(statSync(shared).mode & 0o7777, 0o1777);
});

t.test("a start is refused with one sentence that names the setting", async (t) => {
  t.test("embedded stores and a free port need nothing", (t) => t.resolves(check(t, {})));

  t.test("a port that is in use", async (t) => {
    const port = await portInUse(t);
    await t.rejects(check(t, { listen: { port } }), {
      message: `listen.port: port ${port} of 127.0.0.1 is in use; stop the process that uses it, or set another port.`,
    });
  });

  t.test("an unknown name of a host", async (t) => {
    const host = "no-such-host.invalid";
    await t.rejects(check(t, { listen: { host } }), {
      message: /^listen\.host: .*no-such-host\.invalid/,
    });
  });

  t.test("a port that is in use, with several workers", async (t) => {
    const listen = { port: await portInUse(t, (socket) => socket.destroy()), workers: 2 };
    await t.rejects(check(t, { listen }), {
      message: /^listen\.port: port \d+ of 127.* is in use/,
    });
    const other = { port: await portInUse(t, replying("hello")), workers: 2 };
    await t.rejects(check(t, { listen: other }), { message: /^listen\.port: .* is in use/ });
    const gateway = { port: await portInUse(t, replying('{"status":"ok"}')), workers: 2 };
    await t.resolves(check(t, { listen: gateway }), "workers of a gateway share its port");
    await t.rejects(check(t, { listen: { ...gateway, workers: 1 } }), {
      message: `listen.port: another Tollgate, which runs already, has port ${gateway.port} of 127.0.0.1; stop it, or set another port.`,
    });
  });

  t.test("a port for operators that is in use", async (t) => {
    const port = await portInUse(t);
    await t.rejects(check(t, { admin: { listen: { host: "127.0.0.1", port } } }), {
      message: `admin.listen.port: port ${port} of 127.0.0.1 is in use; stop the process that uses it, or set another port.`,
    });
  });

  t.test("an address of another machine", (t) =>
    t.rejects(check(t, { listen: { host: "198.51.100.7" } }), {
      message:
        "listen.host: this machine has no address 198.51.100.7; use one of its own, 127.0.0.1, or 0.0.0.0 for all.",
    }),
  );

  t.test("a data folder that is a file", async (t) => {
    const data = join(await folderOf(t, { file: "" }), "file");
    await t.rejects(check(t, { stores: { data } }), {
      message: `stores.data: expected a folder that can be written; ${data} is not one (EEXIST).`,
    });
  });

  t.test("a Redis that is down", (t) =>
    t.rejects(check(t, { stores: { hot: `redis://:secret@${NOTHING}` } }), {
      message: `stores.hot: cannot use Redis at ${NOTHING} (ECONNREFUSED); start it, or correct the setting.`,
    }),
  );

  t.test("a Postgres that is down", (t) =>
    t.rejects(check(t, { stores: { ledger: `postgres://user:secret@${NOTHING}/ledger` } }), {
      message: `stores.ledger: cannot use Postgres at ${NOTHING} (ECONNREFUSED); start it, or correct the setting.`,
    }),
  );
});

t.test(
  "a check after the start takes the ports of the gateway that runs, not those of others",
  async (t) => {
    const listen = { port: await portInUse(t, replying('{"status":"ok"}')) };
    const operators = { host: "127.0.0.1", port: listen.port };
    t.strictSame(await check(t, { listen, admin: { listen: operators } }, reachFaults), []);
    const other = { port: await portInUse(t, replying("hello")) };
    t.match(await check(t, { listen: other }, reachFaults), [/^listen\.port: .* is in use/]);
  },
);

t.test("a free port is checked without opening it: a proxy would send calls there", async (t) => {
  const listened = t.capture(Server.prototype, "listen", Server.prototype.listen);
  const port = await portInUse(t);
  t.equal(listened().length, 1);
  await t.rejects(check(t, { listen: { port } }), /in use/);
  await check(t, { listen: { port: 0 } });
  t.equal(listened().length, 0);
});

t.test("a Redis replies", async (t) => {
  const redis = await startRedisServer();
  t.teardown(() => redis.stop());
  await redis.call("CONFIG", "SET", "requirepass", "right");
  const at = (password: string) => `redis://:${password}@127.0.0.1:${redis.port}`;

  await t.test("a wrong password is named as the reason, and not shown", async (t) => {
    const error = await check(t, { stores: { hot: at("wrong-one") } }).catch(String);
    t.match(error, /stores\.hot: cannot use Redis at 127\.0\.0\.1:\d+ \(WRONGPASS /);
    t.notMatch(error, /wrong-one/);
  });
});

t.test("a Redis that cannot keep money is named for what it is", async (t) => {
  const [one, node] = await Promise.all([startRedisServer(), startRedisServer({ cluster: true })]);
  t.teardown(() => Promise.all([one.stop(), node.stop()]));
  const said = (hot: unknown) => check(t, { stores: { hot } }).then(String, String);
  t.equal(await said([`redis://${NOTHING}`, node.url]), "", "one of several is enough");
  t.match(await said(node.url), /a node of a cluster: write a list of its nodes/);
  t.match(await said([one.url]), /no node of a cluster: write one URL, not a list/);
  await one.call("ACL", "SETUSER", "u", "on", ">p", "~tollgate:*", "+@all", "-@dangerous");
  const asUser = one.url.replace("//", "//u:p@");
  t.match(await said(asUser), /has no right to INFO: acl setuser USER .* \+info/);
  await one.call("ACL", "SETUSER", "u", "+info");
  t.equal(await said(asUser), "");
  await one.call("REPLICAOF", "127.0.0.1", "9");
  t.match(await said(one.url), /a replica: write its primary/);
});

t.test("the connections to Postgres", async (t) => {
  const server = await startPostgresServer({ settings: ["max_connections=20"] });
  t.teardown(() => server.stop());
  const ledger = server.url;
  const allowed = 17;

  t.test("are within what the server allows", async (t) => {
    t.strictSame(await check(t, { stores: { ledger, connections: allowed } }), []);
  });

  t.test("are refused if the workers need more than the server allows", (t) =>
    t.rejects(check(t, { listen: { workers: 3 }, stores: { ledger, connections: 6 } }), {
      message:
        "stores.connections: 3 workers with 6 connections each need 18, and Postgres allows 17; lower it, or raise max_connections of Postgres.",
    }),
  );

  t.test("that others use are counted, and warned of: they may go", async (t) => {
    const other = postgres(ledger, { max: 1 });
    await other`select 1`;
    await other`create role plain login`;
    const plain = ledger.replace("postgres@", "plain@");
    await t.rejects(check(t, { stores: { ledger: plain, connections: 1 } }), {
      message:
        "stores.ledger: the role plain cannot make tables in the database postgres; as a superuser, run alter database postgres owner to plain",
    });
    await other`alter database postgres owner to plain`;
    // Other processes of the server are hidden from a user that is no superuser.
    for (const user of ["postgres", "plain"]) {
      const url = ledger.replace("postgres@", `${user}@`);
      const warned = "1 workers with 17 connections each need 17, and others use 1 of 17";
      // The connections of the check before may still be ending.
      await until("one connection is counted", async () => {
        const [warning] = await check(t, { stores: { ledger: url, connections: allowed } });
        return warning?.includes(warned) ?? false;
      });
    }
    await other`create role few login connection limit 3 in role plain`;
    const few = ledger.replace("postgres@", "few@");
    await t.rejects(check(t, { stores: { ledger: few, connections: 4 } }), /Postgres allows 3/);
    await other.end();
  });

  t.test(
    "that gateways of this machine use are not those of others to a later check",
    async (t) => {
      const name = { connection: { application_name: "tollgate" } };
      const running = postgres(ledger, { max: 2, ...name });
      await Promise.all([running`select pg_sleep(0.2)`, running`select pg_sleep(0.2)`]);
      const stores = { ledger, connections: allowed };
      await until("no connection of others is left", async () => {
        return (await check(t, { stores }, reachFaults)).length === 0;
      });
      t.match(await check(t, { stores }), [/others use 2 of 17/], "a start is beside them");
      await running.end();
    },
  );

  t.test("behind a pooler are not checked against the server's own limit", async (t) => {
    const pooler = await startPooler(server.port);
    t.teardown(() => pooler.close());
    const { port } = pooler.address() as AddressInfo;
    const url = ledger.replace(String(server.port), String(port));
    t.strictSame(await check(t, { stores: { ledger: url, connections: 1_000 } }), []);
  });

  t.test("behind a pooler need the time limit of statements", async (t) => {
    const pgbouncer = await startPooler(server.port, "refuse");
    t.teardown(() => pgbouncer.close());
    const at = (pooler: Server) =>
      ledger.replace(String(server.port), String((pooler.address() as AddressInfo).port));
    await t.rejects(check(t, { stores: { ledger: at(pgbouncer) } }), {
      message: /unsupported startup parameter: statement_timeout: set ignore_startup_parameters = /,
    });
    const ignoring = await startPooler(server.port, "drop");
    t.teardown(() => ignoring.close());
    await t.rejects(check(t, { stores: { ledger: at(ignoring) } }), {
      message:
        /drops the statement_timeout .* run alter role postgres set statement_timeout = '30000ms'/,
    });
    const owner = postgres(ledger, { max: 1 });
    await owner`alter role postgres set statement_timeout = '30s'`;
    t.strictSame(await check(t, { stores: { ledger: at(ignoring) } }), []);
    await owner`alter role postgres reset statement_timeout`;
    await owner.end();
  });
});

const TIMEOUT = Buffer.from("statement_timeout\u0000");
const UNSUPPORTED = errorMessage("08P01", "unsupported startup parameter: statement_timeout");

/** An ErrorResponse of Postgres. */
function errorMessage(code: string, message: string): Buffer {
  const fields = Buffer.from(["SFATAL", `C${code}`, `M${message}`, "", ""].join("\u0000"));
  const head = Buffer.from("E\0\0\0\0");
  head.writeUInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}

/**
 * Names itself as the process that serves the client, as PgBouncer does. It passes `statement_timeout` on, drops it from
 * the first message of a client, or refuses it.
 */
async function startPooler(target: number, timeout: "pass" | "drop" | "refuse" = "pass") {
  // BackendKeyData: its name, its length, and the number of a process.
  const head = Buffer.from([75, 0, 0, 0, 12]);
  const pooler = createServer((client) => {
    const server = connect(target, "127.0.0.1");
    let isNamed = false;
    client.on("error", () => server.destroy());
    client.on("data", (chunk: Buffer) => {
      const at = timeout === "pass" ? -1 : chunk.indexOf(TIMEOUT);
      if (at === -1) return server.write(chunk);
      if (timeout === "refuse") return client.end(UNSUPPORTED);
      const end = chunk.indexOf(0, at + TIMEOUT.length) + 1;
      const shorter = Buffer.concat([chunk.subarray(0, at), chunk.subarray(end)]);
      shorter.writeUInt32BE(shorter.length);
      return server.write(shorter);
    });
    server.on("data", (chunk: Buffer) => {
      const at = isNamed ? -1 : chunk.indexOf(head);
      if (at !== -1) {
        isNamed = true;
        chunk.writeUInt32BE(1_234_567_890, at + head.length);
      }
      client.write(chunk);
    });
    client.on("close", () => server.destroy());
    server.on("close", () => client.destroy()).on("error", () => client.destroy());
  });
  pooler.listen(0, "127.0.0.1");
  await once(pooler, "listening");
  return pooler;
}
