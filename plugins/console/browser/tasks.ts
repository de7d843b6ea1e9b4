import { type Child, el } from "../../page-parts/browser/dom.ts";
import { notice } from "../../page-parts/browser/form.ts";
import { ago, vnd } from "../../page-parts/browser/format.ts";
import { BASE } from "./base.ts";
import type {
  Maintenance,
  Quarantined,
  Server,
  SumsRow,
  System,
  Transfer,
  Upstream,
} from "./contract.ts";
import { get, hasCommand, may, type Query, readiness } from "./session.ts";
import { t } from "./text.ts";

/** More are counted as this many. */
const COUNTED_MAX = 100;
/** Causes of a rest that only its owner can end: he pays, or replaces the key. */
const ACCOUNT_FAULTS = /account|billing|key|credentials|quota|http_40[123]/;

/** Something that waits for an operator, with the page on which it is done. */
interface Task {
  readonly kind: "bad" | "info" | "good";
  readonly text: string;
  readonly path?: string;
}

/** Reads all that may need a person; says so if nothing does. A part whose plugin is not there has nothing. */
export async function readTasks(today: SumsRow | undefined): Promise<Task[]> {
  const unless = async <Answer>(words: string, path: string, query?: Query) =>
    hasCommand(words) ? get<Answer>(path, query) : undefined;
  const [transfers, approvals, quarantine, upstreams, servers, system, maintenance, failed, ready] =
    await Promise.all([
      unless<Transfer[]>("transfer list", "/transfers", { state: "unmatched", limit: COUNTED_MAX }),
      unless<object[]>("approval list", "/approvals", { state: "pending", limit: COUNTED_MAX }),
      get<Quarantined[]>("/quarantine", { limit: COUNTED_MAX }),
      get<{ upstreams: Upstream[] }>("/upstreams"),
      unless<Server[]>("servers", "/servers"),
      unless<System>("system", "/system"),
      unless<Maintenance>("maintenance", "/maintenance"),
      may("customers")
        ? unless<object[]>("message list", "/messages", { state: "failed", limit: COUNTED_MAX })
        : undefined,
      readiness(),
    ]);
  const tasks = [
    ...storeTasks(ready),
    ...(maintenance?.enabled
      ? [{ kind: "info", text: t("task.maintenance"), path: "/servers" } as const]
      : []),
    ...transferTasks(transfers ?? []),
    ...approvalTasks(approvals ?? []),
    ...(quarantine.length > 0
      ? [
          {
            kind: "bad",
            text: t("task.quarantine", { count: countOf(quarantine) }),
            path: "/books",
          } as const,
        ]
      : []),
    ...upstreams.upstreams.flatMap(upstreamTasks),
    ...messageTasks(failed ?? []),
    ...serverTasks(servers ?? []),
    ...costTasks(today),
  ];
  const none = { kind: "good", text: t("task.none") } as const;
  const books = system ? booksTasks(system) : [];
  const isWell = [...tasks, ...books].every(({ kind }) => kind === "good");
  return [...(isWell ? [none] : tasks), ...books];
}

/** The tasks as a list. */
export function taskList(tasks: readonly Task[]): HTMLElement {
  return el(
    "ul",
    { class: "tasks" },
    tasks.map(({ kind, text, path }) => {
      const shown: Child = path === undefined ? text : el("a", { href: BASE + path }, text);
      return el("li", {}, notice(kind, shown));
    }),
  );
}

function storeTasks(ready: Readonly<Record<string, unknown>>): Task[] {
  const { status, hot, ledger, reason } = ready;
  const isWell = status === "ready" && hot !== "degraded" && ledger !== "away" && !reason;
  if (isWell) return [];
  return [
    {
      kind: "bad",
      text: t("task.stores", { reason: String(reason ?? ledger ?? status) }),
      path: "/servers",
    },
  ];
}

function transferTasks(unmatched: readonly Transfer[]): Task[] {
  if (unmatched.length === 0) return [];
  const sum = unmatched.reduce((all, { amount_vnd }) => all + Number(amount_vnd ?? 0), 0);
  const text = t("task.transfers", { count: countOf(unmatched), amount: vnd(sum) });
  return [{ kind: "bad", text, path: "/money?state=unmatched" }];
}

function approvalTasks(pending: readonly object[]): Task[] {
  if (pending.length === 0) return [];
  const text = t("task.approvals", { count: countOf(pending) });
  return [{ kind: "info", text, path: "/approvals" }];
}

/** Says if the books agreed at the last periodic reconciliation of any process; nothing before the first. */
export function booksTasks(system: System): Task[] {
  const at = gaugeOf(system, "tollgate_reconciled_timestamp_seconds");
  const drifting = gaugeOf(system, "tollgate_drifting_wallets");
  if (at === undefined || drifting === undefined) return [];
  const time = ago(new Date(at * 1_000).toISOString());
  if (drifting > 0) {
    return [{ kind: "bad", text: t("task.drift", { count: drifting, time }), path: "/books" }];
  }
  return [{ kind: "good", text: t("task.books", { time }), path: "/books" }];
}

function gaugeOf({ gauges }: System, name: string): number | undefined {
  return gauges.find((gauge) => gauge.name === name)?.value ?? undefined;
}

function upstreamTasks({ name, breaker, keys, switched_off }: Upstream): Task[] {
  const tasks: Task[] = [];
  const add = (kind: Task["kind"], text: string) => tasks.push({ kind, text, path: "/upstreams" });
  if (breaker !== "closed") add("bad", t("task.breaker", { name }));
  for (const { key, rests } of keys) {
    const fault = rests.find(({ cause }) => ACCOUNT_FAULTS.test(cause));
    if (fault) add("bad", t("task.key", { name, key: key ?? "", cause: fault.cause }));
  }
  const off = keys.filter(({ switched }) => switched === "off").length;
  if (switched_off.length > 0 || off > 0) add("info", t("task.off", { name }));
  return tasks;
}

function serverTasks(servers: readonly Server[]): Task[] {
  const late = servers.filter(({ is_late }) => is_late);
  if (late.length === 0) return [];
  const names = late.map(({ host }) => host).join(", ");
  return [{ kind: "bad", text: t("task.servers", { names }), path: "/servers" }];
}

function messageTasks(failed: readonly object[]): Task[] {
  if (failed.length === 0) return [];
  const text = t("task.messages", { count: countOf(failed) });
  return [{ kind: "bad", text, path: "/messages?state=failed" }];
}

function costTasks(today: SumsRow | undefined): Task[] {
  if (!today || today.below_cost_calls === 0) return [];
  const { day = "", below_cost_calls: count, below_cost_vnd } = today;
  const text = t("task.below", { count, amount: vnd(below_cost_vnd) });
  return [{ kind: "info", text, path: `/calls?cost=below&from=${day}&to=${day}` }];
}

function countOf(found: readonly unknown[]): string {
  return found.length < COUNTED_MAX ? String(found.length) : `${COUNTED_MAX}+`;
}
