import { spawnSync } from "node:child_process";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { commandsOf } from "../../../plugins/servers/handbook.ts";
import type { KnownServer } from "../../../plugins/servers/known-servers.ts";
import { backCommands, upgradeCommands, upgradeJson } from "../../../plugins/servers/upgrade.ts";

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

t.test("the next build gets a folder of its own, and the way back leads to this one", async (t) => {
  for (const [folder, next] of [
    ["/opt/tollgate", "/opt/tollgate-2"],
    ["/opt/tollgate-2", "/opt/tollgate-3"],
    ["/srv/gate-9", "/srv/gate-10"],
  ] as const) {
    const [base] = next.split("-");
    const there = await upgradeCommands("systemd", folder);
    t.match(there, `cd ${next} &&\nnpm ci &&`);
    t.match(there, `sed -i 's#${base}\\(-[0-9]*\\)\\?/#${next}/#' `);
    t.match(
      await backCommands("systemd", folder),
      `sed -i 's#${base}\\(-[0-9]*\\)\\?/#${folder}/#' `,
    );
  }
});

t.test("the next build gets the native listener of Node 24 if this one has it", async (t) => {
  const folder = t.testdir({ node_modules: { "@btc-vision": { "uwebsockets.js": {} } } });
  for (const way of ["systemd", "hand"] as const) {
    const builds = "npm ci &&\nnpm run build &&\nnpm prune --omit=dev";
    t.match(
      await upgradeCommands(way, folder),
      `${builds} &&\nnpm install --no-save --omit=dev @btc-vision/uwebsockets.js@`,
    );
    t.notMatch(await upgradeCommands(way, join(folder, "none")), "npm install");
  }
});

t.test("leaves an operator's own folders as they are", async (t) => {
  const commands = await upgradeCommands("systemd", "/opt/tollgate-2");
  const program = /sed -i '(.*?)'/.exec(commands)?.[1] ?? "";
  for (const [before, after] of [
    ["/opt/tollgate/dist/core/main.js", "/opt/tollgate-3/dist/core/main.js"],
    ["/opt/tollgate-2/dist/core/main.js", "/opt/tollgate-3/dist/core/main.js"],
    ["- /opt/tollgate-plugins/team.js", "- /opt/tollgate-plugins/team.js"],
    ["- /opt/tollgate-2b/team.js", "- /opt/tollgate-2b/team.js"],
  ] as const) {
    const { stdout } = spawnSync("sed", [program], { input: `${before}\n`, encoding: "utf8" });
    t.equal(stdout, `${after}\n`);
  }
});

t.test("a build is backed up before the next one takes its place, with Docker too", async (t) => {
  const backup = await commandsOf("upgrade.md", "backup");
  for (const way of ["systemd", "docker"] as const) {
    const commands = await upgradeCommands(way, "/opt/tollgate");
    t.ok(commands.startsWith(`${backup} &&\n`), way);
  }
  t.match(await backCommands("docker", "/app"), await commandsOf("container.md", "restart"));
});

/** Blocks that restart both gateways, and the command that goes wrong. */
for (const [page, block, fails] of [
  ["upgrade.md", "switch", "curl"],
  ["upgrade.md", "switch", "sed"],
  ["secrets.md", "token", "curl"],
  ["secrets.md", "postgres", "curl"],
  ["secrets.md", "postgres", "runuser"],
] as const) {
  t.test(`if ${fails} fails in ${page} ${block}, the second gateway goes on`, async (t) => {
    const commands = ["systemctl", "curl", "sed", "runuser", "openssl", "npm"];
    const bin = t.testdir(Object.fromEntries(commands.map((name) => [name, "#!/bin/sh\n"])));
    for (const name of commands) chmodSync(join(bin, name), 0o755);
    const log = join(bin, "log");
    writeFileSync(join(bin, "systemctl"), `#!/bin/sh\necho "$@" >> '${log}'\n`);
    writeFileSync(log, "");
    const run = () => {
      // As an operator pastes them: a failed line does not end the shell.
      const env = { PATH: `${bin}:${process.env["PATH"]}` };
      spawnSync("bash", ["-c", text], { env, stdio: "ignore" });
      return readFileSync(log, "utf8");
    };
    const text = await commandsOf(page, block);
    t.match(run(), /^restart tollgate@2$/m);
    writeFileSync(log, "");
    writeFileSync(join(bin, fails), "#!/bin/sh\nexit 22\n");
    t.notMatch(run(), "tollgate@2");
  });
}
