import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { isLoopback, program, type Services } from "../../core/plugin/index.ts";
import { commandsOf, type Installation, restartCommands } from "./handbook.ts";
import { GENERIC, KINDS, type Language, type SecretKind, WORDS } from "./secret-kinds.ts";

const DAY_MS = 86_400_000;

interface ShownSecret {
  readonly secret: string;
  readonly [field: string]: unknown;
}

interface Secret {
  /** The setting, or the file's name in the data folder. */
  readonly name: string;
  readonly kind: SecretKind;
  /** Variables and files; none if it is written in the config. */
  readonly from: readonly string[];
  readonly isInData: boolean;
}

/**
 * Lists the secrets that the config names and those in the data folder: the variable or file of each, its age if it is a
 * file, who uses it, and how to change it. Those of providers are last: there may be many. Reads no secret.
 */
export async function secretsJson(
  services: Services,
  language: Language,
  way: Installation,
): Promise<ShownSecret[]> {
  const { config, clock } = services;
  const found = [...inConfig(config), ...(await inData(config.stores.data))];
  const rank = ({ name }: Secret) => Number(name.startsWith("upstreams."));
  const secrets = found.toSorted((one, other) => rank(one) - rank(other));
  return Promise.all(
    secrets.map(async ({ name, kind, from, isInData }) => {
      const words = WORDS[language];
      const file = isInData ? join(config.stores.data, name) : from.find(isFile);
      const changed = file === undefined ? undefined : await changedAt(file);
      const ageMs = changed && clock.now() - changed.getTime();
      const isRestart = isInData || name.startsWith("stores.") || from.some((one) => !isFile(one));
      return {
        secret: name,
        from: isInData ? words.data : from.join(", ") || words.config,
        age_days: ageMs === undefined ? null : Math.max(0, Math.floor(ageMs / DAY_MS)),
        overlap: kind.overlap,
        takes_effect: isRestart ? "restart" : "reload",
        changed_at: changed?.toISOString() ?? null,
        used_by: kind.usedBy[language],
        change: kind.change[language],
        commands: await commandsFor(kind, from, isRestart, way, config.stores.ledger),
      };
    }),
  );
}

const isFile = (from: string) => from.startsWith("/");

function inConfig({ sources, stores }: Services["config"]): Secret[] {
  const { hot, ledger } = stores;
  const open = new Set([
    ...(hasPassword(ledger) ? [] : ["stores.ledger"]),
    ...[hot].flat().flatMap((address, at) => {
      return hasPassword(address) ? [] : [Array.isArray(hot) ? `stores.hot.${at}` : "stores.hot"];
    }),
  ]);
  return sources.flatMap(({ setting, from }) => {
    const kind = [...KINDS, GENERIC].find(({ is }) => is.test(setting));
    return kind && !open.has(setting) ? [{ name: setting, kind, from, isInData: false }] : [];
  });
}

function hasPassword(address: string): boolean {
  return /:\/\/[^/?:@]*:[^/?@]+@/.test(address);
}

async function inData(folder: string): Promise<Secret[]> {
  const names = await readdir(folder).catch(() => []);
  return names.sort().flatMap((name) => {
    const kind = KINDS.find(({ file }) => file === name);
    return kind ? [{ name, kind, from: [], isInData: true }] : [];
  });
}

async function changedAt(file: string): Promise<Date | undefined> {
  return stat(file).then(
    ({ mtime }) => mtime,
    () => undefined,
  );
}

/** The commands of the handbook if this installation is the handbook's, else only the last step. */
async function commandsFor(
  { block }: SecretKind,
  from: readonly string[],
  isRestart: boolean,
  way: Installation,
  ledger: string,
): Promise<string> {
  const isWhole =
    block !== undefined &&
    from.includes(block.variable) &&
    (block.name !== "postgres" || isOfHandbook(ledger, way));
  if (isWhole && way === "systemd") return commandsOf("secrets.md", block.name);
  if (isWhole && way === "docker")
    return `${await commandsOf("container.md", block.name)} &&\n${await restartCommands(way)}`;
  return isRestart ? restartCommands(way) : `${program.admin} reload`;
}

/** Returns true if the commands would change the role of this ledger, and not one of another Postgres, such as of before. */
function isOfHandbook(ledger: string, way: Installation): boolean {
  if (!URL.canParse(ledger)) return false;
  const { username, hostname } = new URL(ledger);
  const host = hostname.replace(/^\[|\]$/g, "");
  return username === "tollgate" && (way === "docker" ? host === "postgres" : isLoopback(host));
}
