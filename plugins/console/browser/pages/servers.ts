import { type Child, el, fill } from "../../../page-parts/browser/dom.ts";
import { field, notice } from "../../../page-parts/browser/form.ts";
import { ago, dateTime, vnd } from "../../../page-parts/browser/format.ts";
import { card, pageHead, waiting } from "../../../page-parts/browser/page-head.ts";
import type { PageContext } from "../../../page-parts/browser/routes.ts";
import { BASE } from "../base.ts";
import { openChange } from "../change.ts";
import { commandLine, commandText } from "../command-line.ts";
import type { Hold, Maintenance, Quarantined, Server } from "../contract.ts";
import { downloadCsv } from "../download.ts";
import { redraw, showFresh } from "../live.ts";
import { get, hasCommand, may, readiness } from "../session.ts";
import { pairs, table } from "../table.ts";
import { t } from "../text.ts";

const SHOWN_MAX = 100;

/** The servers and their stores, maintenance, and money that has not ended as it should. */
export async function render({ root, signal }: PageContext): Promise<void> {
  const place = el("div", { class: "grid" }, waiting());
  fill(root, pageHead(t("nav.servers"), t("servers.lead")), place);
  const refresh = async () => {
    const shown = await read(refresh);
    if (!signal.aborted && document.querySelector("dialog[open]") === null) redraw(place, shown);
  };
  await showFresh(place, signal, refresh);
}

async function read(done: () => Promise<void>): Promise<Child[]> {
  const [ready, servers, maintenance, quarantine, holds] = await Promise.all([
    readiness(),
    hasCommand("servers") ? get<Server[]>("/servers") : undefined,
    hasCommand("maintenance") ? get<Maintenance>("/maintenance") : undefined,
    get<Quarantined[]>("/quarantine", { limit: SHOWN_MAX }),
    get<Hold[]>("/holds", { limit: SHOWN_MAX }),
  ]);
  return [
    card(
      t("servers.stores"),
      pairs(Object.entries(ready).map(([name, value]) => [name, String(value)])),
    ),
    servers &&
      card(
        t("nav.servers"),
        table(
          t("nav.servers"),
          [
            { title: t("servers.host"), cell: ({ host, address }) => `${host} ${address}` },
            { title: t("servers.build"), cell: ({ build }) => build },
            { title: t("servers.catalogue"), cell: ({ catalogue }) => el("code", {}, catalogue) },
            { title: t("servers.config"), cell: ({ config }) => el("code", {}, config) },
            { title: t("servers.since"), cell: ({ since }) => dateTime(since) },
            { title: t("customers.state"), cell: serverState },
          ],
          servers,
        ),
        foot("servers", servers, "servers"),
      ),
    maintenance && card(t("servers.maintenance"), maintenancePart(maintenance, done)),
    card(
      t("servers.quarantine"),
      quarantine.length === 0
        ? notice("good", t("servers.quarantine.none"))
        : table(
            t("servers.quarantine"),
            [
              { title: t("servers.since"), cell: ({ since }) => dateTime(since) },
              { title: t("calls.id"), cell: ({ call_id }) => callLink(call_id) },
              { title: t("calls.charged"), isNumber: true, cell: ({ cost_vnd }) => vnd(cost_vnd) },
              { title: t("calls.cause"), cell: ({ reason }) => reason },
              {
                title: t("actions"),
                cell: ({ call_id }) => may("operations") && retryButton(call_id, done),
              },
            ],
            quarantine,
          ),
      foot("quarantine", quarantine, "quarantine list"),
    ),
    card(
      t("servers.holds"),
      holds.length === 0
        ? el("p", { class: "hint" }, t("servers.holds.none"))
        : table(
            t("servers.holds"),
            [
              { title: t("servers.since"), cell: ({ since }) => ago(since) },
              {
                title: t("money.owner"),
                cell: ({ account_id }) =>
                  account_id !== null &&
                  el("a", { href: `${BASE}/customers/${account_id}` }, account_id),
              },
              { title: t("amount"), isNumber: true, cell: ({ amount_vnd }) => vnd(amount_vnd) },
              { title: t("calls.id"), cell: ({ call_id, movement }) => call_id ?? movement ?? "" },
            ],
            holds,
          ),
      foot("holds", holds, "holds list"),
    ),
  ];
}

function foot(file: string, rows: readonly object[], words: string): Child[] {
  const button = el(
    "button",
    {
      type: "button",
      class: "small",
      "aria-label": `CSV: ${words}`,
      onclick: () => downloadCsv(file, rows),
    },
    t("list.csv"),
  );
  return [el("div", { class: "row end" }, button), commandLine(commandText(words))];
}

function serverState({ is_asked, is_late, differs, seen_at }: Server): Child {
  if (differs.length > 0) {
    const text = t("servers.differs", { parts: differs.join(", ") });
    return el("span", { class: `badge ${is_late ? "bad" : "info"}` }, text);
  }
  return el("span", { class: "badge good" }, is_asked ? t("servers.this") : ago(seen_at));
}

function callLink(id: string): HTMLElement {
  return el("a", { href: `${BASE}/calls/${encodeURIComponent(id)}` }, id);
}

function retryButton(id: string, done: () => Promise<void>): HTMLElement {
  const open = () =>
    openChange({
      title: t("servers.retry"),
      about: el("p", {}, t("servers.retry.about")),
      fields: [],
      request: () => ({ path: `/quarantine/${encodeURIComponent(id)}/retry`, body: {} }),
      command: () => commandText("quarantine retry", { call: id }),
      action: t("servers.retry"),
      done,
    });
  return el(
    "button",
    { type: "button", class: "small", "aria-label": `${t("servers.retry")}: ${id}`, onclick: open },
    t("servers.retry"),
  );
}

function maintenancePart({ enabled, message }: Maintenance, done: () => Promise<void>): Child[] {
  const open = () => {
    const said = field(t("servers.message"), { maxlength: 500 }, t("servers.message.hint"));
    const reason = field(t("reason"), { maxlength: 500 });
    const words = enabled ? "maintenance off" : "maintenance on";
    const given = () => ({
      ...(!enabled && said.input.value !== "" && { message: said.input.value }),
      ...(reason.input.value !== "" && { reason: reason.input.value }),
    });
    openChange({
      title: t(enabled ? "servers.maintenance.off" : "servers.maintenance.on"),
      about: !enabled && el("p", {}, t("servers.maintenance.about")),
      fields: enabled ? [reason] : [said, reason],
      request: () => ({ path: "/maintenance", body: { enabled: !enabled, ...given() } }),
      command: () => commandText(words, given()),
      action: t(enabled ? "servers.maintenance.off" : "servers.maintenance.on"),
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
