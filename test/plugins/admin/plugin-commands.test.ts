import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import type { Command, Services } from "../../../core/plugin/services.ts";
import { commandRoutes } from "../../../plugins/admin/plugin-commands.ts";
import { startGateway } from "../../support/gateway.ts";
import { reload } from "../../support/requests.ts";
import { until } from "../../support/until.ts";
import { runCli } from "./cli-runs.ts";

const LIST: Command = {
  words: "squad list",
  about: "shows the teams",
  method: "GET",
  path: "/admin/v1/teams",
};

function offered(...commands: Command[]): Services {
  const all = commands.map((command) => ({ plugin: "team", command }));
  const services: Pick<Services, "commands"> = { commands: all };
  return services as Services;
}

t.test("the command of a plugin is refused", async (t) => {
  const rows: readonly (readonly [change: Partial<Command>, told: RegExp])[] = [
    [
      { words: "wallet" },
      /plugin team adds the command "wallet", which admin has already; use other/,
    ],
    [{ words: "help" }, /"help", which admin has/],
    [
      { words: "Team" },
      /"Team" of the plugin team: the words of a command must have only lower-case/,
    ],
    [{ words: "" }, /the words of a command must have only/],
    [{ words: "squad  list" }, /the words of a command must have only/],
    [{ path: "teams" }, /its path teams must start with \//],
    [{ path: "/teams/:team" }, /:team of its path must be a required option/],
    [{ options: [{ name: "url", value: "URL" }] }, /its option url is reserved/],
    [{ options: [{ name: "--x", value: "X" }] }, /option "--x" must have only lower-case/],
    [{ options: [LIST, LIST].map(() => ({ name: "a", value: "A" })) }, /an option twice/],
    [{ oneOf: ["a"] }, /oneOf names "a", which must be an optional option/],
  ];
  for (const [change, told] of rows) {
    t.test(String(told), async (t) => {
      t.throws(() => commandRoutes(offered({ ...LIST, ...change })), told);
    });
  }

  t.test("if another plugin has it", async (t) => {
    t.throws(() => commandRoutes(offered(LIST, LIST)), /"squad list", which team has/);
  });

  t.test("but accepted if it is valid", async (t) => {
    t.equal(commandRoutes(offered(LIST, { ...LIST, words: "team" })).length, 1);
  });
});

/** A plugin outside of this repository that keeps teams in memory. */
const PLUGIN = `
import { addOperatorRoutes, done, isRefusal, mapping, readBody, readQuery, refuse, text, v, whole } from "tollgate/plugin";
export const options = mapping({ words: v.optional(text(), "squad") });
const shape = mapping({ members_max: whole(1, 1000), open: v.boolean() });
const page = mapping({ limit: text(), after: v.optional(text()), open: v.optional(text()) });
export default (services, { words }) => {
  const teams = new Map(Array.from({ length: 1200 }, (_, at) => ["t" + String(at).padStart(4, "0"), {}]));
  const at = { path: "/team/v1/teams/:team" };
  const team = { name: "team", value: "NAME", required: true };
  return {
    name: "team",
    commands: [
      { words: words + " list", about: "shows the teams", method: "GET", path: "/team/v1/teams",
        options: [{ name: "limit", value: "N" }, { name: "open", value: "BOOLEAN" }], pages: { query: "after", field: "name" } },
      { words: words + " open", about: "opens a team", method: "POST", ...at, fields: { open: true },
        options: [team, { name: "members-max", value: "N", required: true, type: "number" }] },
      { words: words + " drop", about: "drops a team", method: "DELETE", ...at, options: [team] },
    ],
    routes(router) {
      addOperatorRoutes(router, services, "/team/v1", [
        { method: "GET", path: "/teams", handle: async ({ query }) => {
          const wanted = readQuery(page, query);
          if (isRefusal(wanted)) return wanted;
          const all = [...teams.keys()].filter((name) => name > (wanted.after ?? ""));
          return done(all.slice(0, Number(wanted.limit)).map((name) => ({ name, ...teams.get(name) })));
        } },
        { method: "POST", path: "/teams/:team", handle: async ({ params, body }) => {
          const wanted = readBody(shape, body);
          if (isRefusal(wanted)) return wanted;
          teams.set(params.team, wanted);
          return done({ name: params.team, ...wanted });
        } },
        { method: "DELETE", path: "/teams/:team", handle: async ({ params }) =>
          teams.delete(params.team) ? done({ name: params.team }) : { status: 404, type: "not_found_error", message: "no such team" } },
      ]);
    },
  };
};
`;

t.test("a plugin's commands", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-test-"));
  const plugin = join(folder, "team.mjs");
  writeFileSync(plugin, PLUGIN);
  const gateway = await startGateway({ plugins: { [plugin]: {} } });
  t.teardown(async () => {
    await gateway?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const run = (...args: string[]) =>
    runCli(args, {
      env: { GATEWAY_URL: gateway.url, GATEWAY_ADMIN_TOKEN: gateway.adminToken },
      cwd: folder,
    });

  t.test("are listed, run and printed like the built-in ones", async (t) => {
    const help = await run("help");
    t.match(help.stdout, /^others: of plugins\n[\s\S]*^ {2}squad open +opens a team$/m);
    const { stdout } = await run("help", "squad");
    t.match(stdout, /squad open --team NAME --members-max N\n {6}opens a team/);
    const opened = await run("squad", "open", "--team", "a b&c", "--members-max", "7", "--json");
    t.strictSame([opened.code, opened.stderr], [0, ""]);
    t.strictSame(JSON.parse(opened.stdout), { name: "a b&c", members_max: 7, open: true });
    const dropped = await run("squad", "drop", "--team", "a b&c", "--json");
    t.strictSame(JSON.parse(dropped.stdout), { name: "a b&c" });
  });

  t.test("list all pages, or as much as --limit", async (t) => {
    const all = JSON.parse((await run("squad", "list")).stdout);
    t.strictSame([all.length, all.at(-1)?.name], [1200, "t1199"]);
    const some = JSON.parse((await run("squad", "list", "--limit", "1001")).stdout);
    t.equal(some.length, 1001);
  });

  t.test("exit like the built-in ones if they are refused or used wrongly", async (t) => {
    for (const [args, code, message] of [
      [["squad", "drop", "--team", "nobody"], 1, /^no such team\n$/],
      [["squad", "drop", "--team", "a/b"], 1, /encoded slash: write it without/],
      [["squad", "open", "--team", "x", "--members-max", "-5"], 1, /members_max: expected a whole/],
      [
        ["squad", "open", "--team", "x", "--members-max", "few"],
        1,
        /members_max: expected a whole/,
      ],
      [
        ["squad", "open", "--team", "x"],
        2,
        /needs --members-max\nusage: npm run admin -- squad open/,
      ],
      [["squad", "open", "--team", "x", "--size", "1"], 2, /--size/],
      [["squad", "close"], 2, /there is no command "squad close"; did you mean "squad list"\?/],
    ] as const) {
      const { stdout, stderr, ...ended } = await run(...args);
      t.strictSame([ended.code, stdout], [code, ""], args.join(" "));
      t.match(stderr, message);
    }
  });

  t.test("require the operator's token", async (t) => {
    t.equal((await fetch(`${gateway.url}/admin/v1/commands`)).status, 401);
  });

  t.test(
    "that duplicate a built-in one stop a start, and make a reload keep the old config",
    async (t) => {
      const shadow = { plugins: { [plugin]: { words: "account" } } };
      gateway.configure(shadow);
      const before = gateway.logs.length;
      gateway.signal("SIGHUP");
      await until("the reload is refused", () =>
        /adds the command .{0,4}account list.*keeping the old one/.test(gateway.logs.slice(before)),
      );
      t.equal((await run("squad", "list", "--limit", "1")).code, 0);
      await gateway.stop();
      await t.rejects(gateway.start(), /plugin team adds the command "account list", which admin/);
      gateway.configure({ plugins: { [plugin]: { words: "crew" } } });
      await gateway.start();
      t.equal((await run("crew", "list", "--limit", "1")).code, 0);
      await reload(gateway, { plugins: { [plugin]: {} } });
      await until("the old command is offered again", async () => {
        return (await run("squad", "list", "--limit", "1")).code === 0;
      });
    },
  );
});
