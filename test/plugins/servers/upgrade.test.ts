import t from "tap";
import { commandsOf } from "../../../plugins/servers/handbook.ts";
import type { KnownServer } from "../../../plugins/servers/known-servers.ts";
import { upgradeJson } from "../../../plugins/servers/upgrade.ts";

const at = new Date();
const server = (build: string, schemaProblem: string | null = null): KnownServer => ({
  host: "a",
  address: "127.0.0.1:8001",
  build,
  catalogue: "c",
  config: "c",
  schemaProblem,
  since: at,
  seenAt: at,
  isOwn: false,
  differs: [],
  isLate: false,
});
const core = { owner: "core", build: "0003-usage", database: "0003-usage", oldest: "0002-ledger" };
const well = { ...core, problem: undefined };
const cannot = {
  ...core,
  database: "0004-more",
  problem: "the database has applied 0004-more.sql",
};

t.test(
  "says what is next: all is well, an upgrade is under way, a build would not start",
  async (t) => {
    const of = async (schema: typeof well | typeof cannot, servers: KnownServer[]) => {
      return upgradeJson([schema], servers, "en");
    };
    t.match(await of(well, [server("1"), server("1")]), {
      works: true,
      state: /^All processes \(2\) run this build, and it works/,
      back_works: /end with 0002-ledger/,
    });
    t.match(await of(well, [server("1"), server("2")]), { works: true, state: /builds 1, 2/ });
    t.match(await of(cannot, [server("1")]), {
      works: false,
      state: /Do not restart this process.*0004-more/,
      schema: [{ owner: "core", build: "0003-usage", database: "0004-more" }],
    });
    t.match(await of(well, [server("2"), server("1", "it lacks 0004-more.sql")]), {
      works: false,
      state: /Do not restart a 127.0.0.1:8001.*0004-more/,
      processes: [{ works: true }, { works: false }],
    });
    t.match(await upgradeJson([well], [server("1")], "vi"), { state: /Mọi tiến trình/ });
  },
);

t.test("reads the commands of the handbook", async (t) => {
  t.match(await commandsOf("upgrade.md", "switch"), /^sed .*systemctl restart tollgate@2$/s);
  t.match(await commandsOf("secrets.md", "postgres"), /alter role/);
  await t.rejects(commandsOf("upgrade.md", "none"), /no block none/);
});
