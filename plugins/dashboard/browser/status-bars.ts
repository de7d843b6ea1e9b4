import { el, fill } from "../../page-parts/browser/dom.ts";
import { icon } from "../../page-parts/browser/icons.ts";
import { get } from "./api.ts";
import { t } from "./text.ts";

interface Maintenance {
  readonly enabled: boolean;
  /** The operator's own words; null if there are none. */
  readonly message: string | null;
}

const POLL_MS = 60_000;

const offline = el("div", { class: "status-bar", role: "status" });
const maintenance = el("div", { class: "status-bar", role: "status" });

/** Shows above the page if the browser is offline, and the operator's message during maintenance. Call once. */
export function mountStatusBars(): void {
  document.body.prepend(offline, maintenance);
  addEventListener("offline", showConnection);
  addEventListener("online", showConnection);
  showConnection();
  void showMaintenance();
  setInterval(() => {
    if (!document.hidden) void showMaintenance();
  }, POLL_MS);
}

/** Asks again, such as after a call was refused. */
export async function showMaintenance(): Promise<void> {
  const { enabled, message } = await get<Maintenance>("/maintenance").catch(
    // Without the plugin there is no maintenance.
    (): Maintenance => ({ enabled: false, message: null }),
  );
  fill(maintenance, enabled && [icon("alert"), el("span", {}, message ?? t("error.503"))]);
}

function showConnection(): void {
  fill(offline, !navigator.onLine && [icon("alert"), el("span", {}, t("offline"))]);
}
