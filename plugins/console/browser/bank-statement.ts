import { badge } from "../../page-parts/browser/badge.ts";
import { el, fill } from "../../page-parts/browser/dom.ts";
import { failureText } from "../../page-parts/browser/failure.ts";
import { field, notice } from "../../page-parts/browser/form.ts";
import { dayLong, number, vnd } from "../../page-parts/browser/format.ts";
import { card } from "../../page-parts/browser/page-head.ts";
import { type Column, figures } from "../../page-parts/browser/table.ts";
import { openChange } from "./change.ts";
import { commandLine, commandText } from "./command-line.ts";
import { customerLink } from "./customer-link.ts";
import { section } from "./section.ts";
import { may, post } from "./session.ts";
import { t } from "./text.ts";
import { transferLink } from "./transfer-changes.ts";

interface Compared {
  /** False once they are recorded. */
  readonly dry_run: boolean;
  readonly known: number;
  readonly new: number;
  readonly unclear: number;
  readonly outgoing: number;
  readonly other_accounts: number;
  readonly skipped_lines: readonly number[];
  readonly transfers: readonly (Booked & {
    readonly line: number;
    readonly reference: string | null;
    readonly alike: string | null;
    readonly outcome: "known" | "new" | "unclear";
  })[];
  readonly missing: readonly Missing[];
}

interface Missing extends Booked {
  readonly state: "credited" | "matched" | "unmatched";
}

interface Booked {
  readonly day: string | null;
  readonly amount_vnd: string;
  readonly content: string | null;
  readonly transfer: string | null;
  readonly account: string | null;
}

/** Compares a bank's statement with the transfers that are recorded, then records those that are not. */
export function statementPart(): HTMLElement {
  const place = el("div", { class: "grid" });
  const { element, input } = field(
    t("bankfile.file"),
    { type: "file", accept: ".csv,text/csv", required: true },
    t("bankfile.hint"),
  );
  input.addEventListener("change", async () => {
    const file = await input.files?.[0]?.text();
    if (file === undefined) return;
    place.setAttribute("aria-busy", "true");
    try {
      fill(
        place,
        outcome(await post<Compared>("/transfers/import", { file, dry_run: true }), file),
      );
    } catch (error) {
      fill(place, notice("bad", failureText(error)));
      // So that the same file, mended, is a change.
      input.value = "";
    }
    place.removeAttribute("aria-busy");
  });

  function outcome(found: Compared, file: string): HTMLElement[] {
    const open = found.new + found.unclear;
    const record = el("button", { type: "button", class: "primary" }, t("bankfile.record"));
    record.addEventListener("click", () => {
      openChange({
        title: t("bankfile.record"),
        about: el("p", {}, t("bankfile.record.about", { count: number(open) })),
        fields: [],
        path: "/transfers/import",
        command: "transfer import",
        given: () => ({ file: "statement.csv" }),
        body: () => ({ file }),
        done: (reply) => fill(place, outcome(reply as Compared, file)),
      });
    });
    const { missing } = found;
    return [
      card(
        t("bankfile.outcome"),
        figures([
          { name: t("bankfile.known"), value: number(found.known) },
          { name: t("bankfile.new"), value: number(found.new) },
          { name: t("bankfile.unclear"), value: number(found.unclear) },
          { name: t("bankfile.missing"), value: number(missing.length) },
        ]),
        el(
          "p",
          { class: "hint" },
          t("bankfile.leftout", {
            outgoing: number(found.outgoing),
            others: number(found.other_accounts),
            lines: found.skipped_lines.join(", ") || "–",
          }),
        ),
        !found.dry_run && notice("good", t("bankfile.done")),
        found.dry_run && open > 0 && el("div", { class: "row" }, record),
      ),
      ...(missing.length > 0
        ? [
            section({
              title: t("bankfile.missing"),
              above: notice("bad", t("bankfile.missing.about")),
              rows: missing,
              columns: [
                ...columns<Missing>(),
                { title: t("customers.state"), cell: ({ state }) => t(`transfer.${state}`) },
              ],
              none: "",
              file: "missing",
              command: `${commandText("transfer import", { file: "statement.csv" })} --dry-run`,
            }),
          ]
        : []),
      section({
        title: t("bankfile.rows"),
        // Those that need a look first.
        rows: [...found.transfers].sort((one, other) => rank(one.outcome) - rank(other.outcome)),
        columns: [
          ...columns<Compared["transfers"][number]>(),
          {
            title: t("customers.state"),
            cell: ({ outcome: is }) => badge(is === "known" ? "good" : "info", t(`bankfile.${is}`)),
          },
          { title: t("bankfile.alike"), cell: ({ alike }) => transferLink(alike) },
        ],
        none: t("money.none"),
        file: "statement",
        command: `${commandText("transfer import", { file: "statement.csv" })} --dry-run`,
      }),
    ];
  }

  return el(
    "div",
    { class: "grid" },
    card(
      t("bankfile"),
      may("money") ? element : notice("info", t("error.role_forbids")),
      commandLine(`${commandText("transfer import", { file: "statement.csv" })} --dry-run`),
    ),
    place,
  );
}

function rank(outcome: "known" | "new" | "unclear"): number {
  return ["unclear", "new", "known"].indexOf(outcome);
}

function columns<Row extends Booked>(): Column<Row>[] {
  return [
    { title: t("day"), cell: ({ day }: Row) => (day === null ? "–" : dayLong(day)) },
    { title: t("amount"), isNumber: true, cell: ({ amount_vnd }: Row) => vnd(amount_vnd) },
    { title: t("money.content"), cell: ({ content }: Row) => content ?? "" },
    {
      title: t("money.transfer"),
      cell: ({ transfer }: Row) => transferLink(transfer),
    },
    {
      title: t("money.owner"),
      cell: ({ account }: Row) => account !== null && customerLink(account, t("show")),
    },
  ];
}
