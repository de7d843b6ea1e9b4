import { badge } from "../../../page-parts/browser/badge.ts";
import { type Child, el, fill } from "../../../page-parts/browser/dom.ts";
import { field, notice } from "../../../page-parts/browser/form.ts";
import { ago, dateTime, number } from "../../../page-parts/browser/format.ts";
import { card, loadInto, pageHead } from "../../../page-parts/browser/page-head.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import { pairs } from "../../../page-parts/browser/table.ts";
import { openChange, optionalReason } from "../change.ts";
import { commandBlock, commandLine, commandText } from "../command-line.ts";
import type { Backup, Maintenance, Secret, Server, System, Upgrade } from "../contract.ts";
import { section } from "../section.ts";
import { get, hasCommand, may, readiness } from "../session.ts";
import { t } from "../text.ts";

/** The processes and their stores, maintenance, and this process with its config and secrets. */
export async function render({ root, signal }: PageContext): Promise<void> {
  const place = el("div", { class: "grid" });
  fill(root, pageHead(t("nav.servers"), t("servers.lead")), place);
  const load = (): Promise<void> => loadInto(place, signal, () => read(load));
  await load();
}

async function read(done: () => Promise<void>): Promise<Child[]> {
  const language = { language: document.documentElement.lang };
  const [ready, servers, upgrade, secrets, system, backups, maintenance] = await Promise.all([
    readiness(),
    hasCommand("servers") ? get<Server[]>("/servers") : undefined,
    hasCommand("upgrade") ? get<Upgrade>("/upgrade", language) : undefined,
    hasCommand("secrets") ? get<Secret[]>("/secrets", language) : undefined,
    hasCommand("system") ? get<System>("/system") : undefined,
    hasCommand("backups") ? get<Backup[]>("/backups") : undefined,
    hasCommand("maintenance") ? get<Maintenance>("/maintenance") : undefined,
  ]);
  return [
    maintenance && card(t("servers.maintenance"), maintenancePart(maintenance, done)),
    card(
      t("servers.stores"),
      pairs(Object.entries(ready).map(([name, value]) => [name, String(value)])),
      system?.clocks.map(({ clock, ahead_ms }) =>
        el("p", { class: "hint" }, t("system.clock", { clock, ms: number(ahead_ms) })),
      ),
      system?.faults.map(({ store, setting, advice, breaks }) =>
        notice(breaks ? "bad" : "info", `${store}, ${setting}: ${advice}`),
      ),
    ),
    backups &&
      section({
        title: t("backups"),
        above: backups[0] && backupState(backups[0]),
        rows: backups,
        columns: [
          { title: t("time"), cell: ({ at }) => dateTime(at) },
          { title: "MB", isNumber: true, cell: ({ bytes }) => number(bytes / 1e6, 2) },
        ],
        none: notice("info", t("backups.none")),
        file: "backups",
        command: commandText("backups"),
      }),
    servers &&
      section({
        title: t("system.processes"),
        rows: servers,
        columns: [
          { title: t("servers.host"), cell: ({ host, address }) => `${host} ${address}` },
          { title: t("servers.build"), cell: ({ build }) => build },
          { title: t("servers.catalogue"), cell: ({ catalogue }) => el("code", {}, catalogue) },
          { title: t("servers.config"), cell: ({ config }) => el("code", {}, config) },
          { title: t("since"), cell: ({ since }) => dateTime(since) },
          { title: t("customers.state"), cell: serverState },
          {
            title: t("servers.works"),
            cell: ({ schema_problem }) =>
              schema_problem === null
                ? t("yes")
                : el("span", { class: "badge bad", title: schema_problem }, t("no")),
          },
        ],
        none: "",
        file: "servers",
        command: commandText("servers"),
      }),
    upgrade && upgradePart(upgrade),
    secrets && secretsPart(secrets),
    system && systemParts(system),
  ];
}

function upgradePart({ works, state, folder, back_works, upgrade, back }: Upgrade): HTMLElement {
  return card(
    t("upgrade"),
    notice(works ? "good" : "bad", state),
    commandBlock(t("upgrade.commands"), false, upgrade),
    commandBlock(t("upgrade.back", { folder }), el("p", { class: "hint" }, back_works), back),
    commandLine(commandText("upgrade")),
  );
}

function secretsPart(secrets: readonly Secret[]): HTMLElement {
  return section({
    title: t("secrets"),
    above: el("p", { class: "hint" }, t("secrets.about")),
    rows: secrets,
    columns: [
      {
        title: t("secrets.name"),
        cell: ({ secret, from }) => [
          el("code", {}, secret),
          el("br"),
          el("small", { class: "hint" }, from),
        ],
      },
      { title: t("secrets.used"), cell: ({ used_by }) => used_by },
      {
        title: t("secrets.age"),
        isNumber: true,
        cell: ({ age_days }) => shown(age_days),
      },
      {
        title: t("secrets.how"),
        cell: ({ takes_effect, overlap, change, commands }) => {
          const about = `${change} ${t(overlap ? "secrets.both" : "secrets.one")}`;
          return commandBlock(t(`secrets.${takes_effect}`), el("p", {}, about), commands);
        },
      },
    ],
    none: t("secrets.none"),
    file: "secrets",
    command: commandText("secrets"),
  });
}

function backupState({ at, is_old }: Backup): HTMLElement {
  return notice(is_old ? "bad" : "good", t("backups.last", { time: ago(at) }));
}

function systemParts({ process, gauges, config }: System): Child[] {
  const command = commandText("system");
  return [
    card(
      t("system.process"),
      pairs(Object.entries(process).map(([name, value]) => [name, shown(value)])),
      commandLine(command),
    ),
    section({
      title: t("system.watch"),
      rows: gauges,
      columns: [
        {
          title: t("system.gauge"),
          cell: ({ name, about }) => [
            el("code", {}, name),
            el("br"),
            el("small", { class: "hint" }, about),
          ],
        },
        {
          title: t("system.value"),
          isNumber: true,
          cell: ({ name, value }) =>
            value !== null && name.endsWith("_timestamp_seconds")
              ? dateTime(new Date(value * 1_000).toISOString())
              : shown(value),
        },
      ],
      none: "",
      file: "gauges",
      command,
    }),
    card(
      t("system.config"),
      pairs(Object.entries(config).map(([name, value]) => [name, shown(value)])),
      commandLine(command),
    ),
  ];
}

function shown(value: string | number | null): string {
  if (value === null) return t("unknown");
  return typeof value === "number" ? number(value, 2) : value;
}

function serverState({ is_asked, is_late, differs, seen_at }: Server): Child {
  if (differs.length > 0) {
    const text = t("servers.differs", { parts: differs.join(", ") });
    return badge(is_late ? "bad" : "info", text);
  }
  return badge("good", is_asked ? t("servers.this") : ago(seen_at));
}

function maintenancePart({ enabled, message }: Maintenance, done: () => Promise<void>): Child[] {
  const open = () => {
    const said = field(t("servers.message"), { maxlength: 500 }, t("servers.message.hint"));
    const reason = optionalReason();
    const given = () => ({
      message: said.input.value,
      reason: reason.input.value,
    });
    openChange({
      title: t(enabled ? "servers.maintenance.off" : "servers.maintenance.on"),
      about: !enabled && el("p", {}, t("servers.maintenance.about")),
      fields: enabled ? [reason] : [said, reason],
      path: "/maintenance",
      command: enabled ? "maintenance off" : "maintenance on",
      given,
      body: () => ({ enabled: !enabled, ...given() }),
      isDangerous: !enabled,
      done,
    });
  };
  return [
    enabled ? notice("info", message ?? t("task.maintenance")) : notice("good", t("servers.open")),
    may("operations") &&
      el(
        "div",
        { class: "row" },
        el(
          "button",
          { type: "button", onclick: open },
          t(enabled ? "servers.maintenance.off" : "servers.maintenance.on"),
        ),
      ),
    commandLine(commandText("maintenance")),
  ];
}
