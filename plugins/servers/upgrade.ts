import { existsSync } from "node:fs";
import { join } from "node:path";
import { program, type Services } from "../../core/plugin/index.ts";
import {
  buildFolder,
  commandsOf,
  type Installation,
  installation,
  restartCommands,
} from "./handbook.ts";
import type { KnownServer } from "./known-servers.ts";
import type { Language } from "./secret-kinds.ts";

type Schema = Awaited<ReturnType<Services["status"]["schema"]>>;

/** Returns why this build would not start again on the database; undefined if it would. */
export function problemOf(schema: Schema): string | undefined {
  return schema.find(({ problem }) => problem !== undefined)?.problem;
}

/** Returns if this build works with the database and the other processes, what to do next, and the commands for it. */
export async function upgradeJson(
  schema: Schema,
  servers: readonly KnownServer[],
  language: Language,
): Promise<object> {
  const way = await installation();
  const problem = problemOf(schema);
  const stuck = servers.find(({ schemaProblem }) => schemaProblem !== null);
  const builds = [...new Set(servers.map(({ build }) => build))];
  const oldest = schema.find(({ owner }) => owner === "core")?.oldest ?? "";
  const words = WORDS[language];
  return {
    build: program.version,
    folder: buildFolder,
    works: problem === undefined && stuck === undefined,
    state:
      problem !== undefined
        ? words.cannot(problem)
        : stuck
          ? words.otherCannot(`${stuck.host} ${stuck.address}`, stuck.schemaProblem ?? "")
          : builds.length > 1
            ? words.underWay(builds.join(", "))
            : words.well(servers.length),
    back_works: words.back(oldest),
    schema: schema
      .filter(({ owner, build, database }) => owner === "core" || build !== database)
      .map(({ problem: _, ...state }) => state),
    processes: servers.map(({ host, address, build, schemaProblem }) => ({
      host,
      address,
      build,
      works: schemaProblem === null,
    })),
    upgrade: await upgradeCommands(way, buildFolder),
    back: await backCommands(way, buildFolder),
  };
}

/** The native listener of Node 24, which `npm ci` does not install. */
const NEWER_LISTENER = "node_modules/@btc-vision/uwebsockets.js";
/** The folders of the handbook's commands: of the next build, and of those before it. */
const NEW_FOLDER = "/opt/tollgate-2/";
const NUMBER = String.raw`\(-[0-9]*\)\?`;
const OLD_FOLDERS = `/opt/tollgate${NUMBER}/`;

/** Returns the commands from the build in a folder to the next one. A failed one ends them. */
export async function upgradeCommands(way: Installation, folder: string): Promise<string> {
  const backup = await commandsOf("upgrade.md", "backup");
  if (way === "docker") {
    return joined(
      backup,
      "docker tag tollgate:latest tollgate:before",
      "docker compose build",
      await restartCommands(way),
    );
  }
  const build = await buildCommands(folder);
  if (way === "hand") {
    return `${joined("cd NEW_FOLDER", ...build)}\nkill -TERM PROCESS # it ends its calls; then npm start in NEW_FOLDER, with the same data folder`;
  }
  const next = nextFolder(folder);
  return joined(backup, `cd ${next}`, ...build, await switchCommands(folder, next));
}

/** Builds as at the install of the build in a folder. */
async function buildCommands(folder: string): Promise<string[]> {
  const commands = (await commandsOf("install.md", "build")).split("\n");
  if (!existsSync(join(folder, NEWER_LISTENER))) return commands;
  return [...commands, await commandsOf("install.md", "node-24")];
}

/** The way back from the next build to this one. */
export async function backCommands(way: Installation, folder: string): Promise<string> {
  if (way === "docker") {
    return joined("docker tag tollgate:before tollgate:latest", await restartCommands(way));
  }
  if (way === "hand") return `kill -TERM PROCESS # then npm start in ${folder}`;
  return switchCommands(folder, folder);
}

async function switchCommands(folder: string, to: string): Promise<string> {
  const commands = await commandsOf("upgrade.md", "switch");
  return commands
    .replaceAll(NEW_FOLDER, `${to}/`)
    .replaceAll(OLD_FOLDERS, `${numbered(folder).base}${NUMBER}/`);
}

/** Returns the folder for the next build: never that of a build that may be running. */
function nextFolder(folder: string): string {
  const { base, number } = numbered(folder);
  return `${base}-${number + 1}`;
}

function numbered(folder: string): { readonly base: string; readonly number: number } {
  const [, base = folder, number = "1"] = /^(.*)-(\d+)$/.exec(folder) ?? [];
  return { base, number: Number(number) };
}

function joined(...commands: readonly string[]): string {
  return commands.join(" &&\n");
}

const WORDS = {
  en: {
    well: (count: number) =>
      `All processes (${count}) run this build, and it works with the database. To upgrade: back up, then the commands below.`,
    underWay: (builds: string) =>
      `An upgrade is under way: processes run the builds ${builds}, and each works with the database. Restart the others with the new build, or go back.`,
    cannot: (problem: string) =>
      `Do not restart this process with this build, it would not start: ${problem}. Restart it with the new build.`,
    otherCannot: (server: string, problem: string) =>
      `Do not restart ${server} with its build, it would not start: ${problem}. Restart it with the new build.`,
    back: (oldest: string) =>
      `A build whose core migrations end with ${oldest}, or with a later one, starts on this database. Before an older one, restore the backup from before the upgrade.`,
  },
  vi: {
    well: (count: number) =>
      `Mọi tiến trình (${count}) chạy bản này, và bản này hợp với cơ sở dữ liệu. Để nâng cấp: sao lưu, rồi chạy các lệnh bên dưới.`,
    underWay: (builds: string) =>
      `Đang nâng cấp: các tiến trình chạy các bản ${builds}, mỗi bản đều hợp với cơ sở dữ liệu. Khởi động lại các tiến trình còn lại bằng bản mới, hoặc quay lại.`,
    cannot: (problem: string) =>
      `Đừng khởi động lại tiến trình này bằng bản này, nó sẽ không chạy: ${problem}. Hãy khởi động lại bằng bản mới.`,
    otherCannot: (server: string, problem: string) =>
      `Đừng khởi động lại ${server} bằng bản của nó, nó sẽ không chạy: ${problem}. Hãy khởi động lại bằng bản mới.`,
    back: (oldest: string) =>
      `Bản có migration lõi kết thúc ở ${oldest} hoặc mới hơn chạy được trên cơ sở dữ liệu này. Với bản cũ hơn, trước hết khôi phục bản sao lưu từ trước khi nâng cấp.`,
  },
} as const;
