import {
  type CustomerRoute,
  done,
  isId,
  mapping,
  matching,
  type OperatorRoute,
  type PlainResponse,
  type Refusal,
  reading,
  refuse,
  rowLimit,
  type Services,
  v,
} from "../../core/plugin/index.ts";
import { Downloads, fileHeaders } from "../page-parts/downloads.ts";
import type { Decimal } from "./canonical.ts";
import { buyerOf, setBuyer } from "./customers.ts";
import { type ClosedStatement, csvOf, jsonOf, summaryJson } from "./file.ts";
import { amountsJson, party, type Terms } from "./invoice.ts";
import { currentTerms, type Options } from "./terms.ts";

const MONTH = "a month such as 2026-10";
const month = matching(/^20\d\d-(?:0[1-9]|1[0-2])$/, MONTH);
/** Rows on the page: 31 days of 60 models. The files have all. */
const PAGE_ROWS_MAX = 2_000;
/** Files that one account downloads at the same time. */
const DOWNLOADS_MAX = 2;

const input = mapping({ buyer: v.nullable(party) });
const asked = mapping({ month: v.optional(month) });
const ofMonth = mapping({
  month,
  limit: rowLimit(),
  after: v.optional(v.pipe(v.string("an account's id"), v.check(isId, "an account's id"))),
});
const decimal = mapping({
  decimal: v.optional(v.picklist(["point", "comma"], "point or comma"), "point"),
});

/** Routes for customers: their closed statements, as JSON for the page and as files, and what they set. */
export function customerRoutes(services: Services, options: Options): CustomerRoute[] {
  const { database } = services;
  const { months } = services.usage;
  const downloads = new Downloads(DOWNLOADS_MAX);

  async function overview(accountId: string): Promise<PlainResponse> {
    const [closed, buyer] = await Promise.all([
      months.list(accountId),
      buyerOf(database, accountId),
    ]);
    return done({ data: closed.map(summaryJson), buyer: buyer ?? null });
  }

  return [
    { method: "GET", path: "/statements", handle: (_, { accountId }) => overview(accountId) },
    {
      method: "POST",
      path: "/statements",
      handle: reading(input, async (wanted, _, { accountId }) => {
        await setBuyer(database, accountId, wanted.buyer);
        return overview(accountId);
      }),
    },
    {
      method: "GET",
      path: "/statements/:file",
      handle: reading(decimal, async (style, { params }, { accountId }) => {
        const [, wanted, form] = /^(20\d\d-\d\d)(\.csv|\.json)?$/.exec(params["file"] ?? "") ?? [];
        const statement = wanted === undefined ? undefined : await months.find(accountId, wanted);
        if (statement === undefined) return notClosed(services, wanted);
        if (form === undefined) return json(services, options, statement, PAGE_ROWS_MAX);
        if (downloads.isFull(accountId))
          return refuse.rateLimited(
            `This account downloads ${DOWNLOADS_MAX} statements already. Wait for one to finish.`,
            { code: "too_many_exports", headers: ["retry-after", "5"] },
          );
        const file = await fileOf(
          services,
          options,
          statement,
          form === ".csv" ? style.decimal : "json",
        );
        return { ...file, body: downloads.counted(accountId, file.body) };
      }),
    },
  ];
}

/**
 * Routes of operators: a closed statement with all rows, or without a month the list of those of an account; and the invoices of a
 * month, of all customers.
 */
export function operatorRoutes(services: Services, options: Options): OperatorRoute[] {
  const { months } = services.usage;
  return [
    {
      method: "GET",
      path: "/accounts/:account/statement",
      right: "customers",
      handle: reading(asked, async (given, { params }) => {
        const accountId = params["account"] ?? "";
        if (!isId(accountId) || !(await services.accounts.find(accountId)))
          return refuse.notFound(
            "There is no such account: use an id or an address of `account list`.",
            "account",
          );
        if (given.month === undefined) return done((await months.list(accountId)).map(summaryJson));
        const statement = await months.find(accountId, given.month);
        if (statement === undefined) return notClosed(services, given.month);
        return json(services, options, statement, Number.POSITIVE_INFINITY);
      }),
    },
    {
      method: "GET",
      path: "/invoices",
      right: "customers",
      handle: reading(ofMonth, async (given) => {
        const closed = await months.ofMonth(given.month, given.after, given.limit);
        const ids = closed.map(({ accountId }) => accountId);
        const sold = await months.sold(given.month, ids);
        const rows: object[] = [];
        // One after the other: a thousand queries at once would take all connections.
        for (const statement of closed)
          rows.push(
            await invoiceRow(services, options, statement, sold.get(statement.accountId) ?? 0n),
          );
        return done(rows);
      }),
    },
  ];
}

async function notClosed({ usage }: Services, wanted: string | undefined): Promise<Refusal> {
  if (wanted === undefined) return refuse.notFound(`There is no such statement: use ${MONTH}.`);
  const isOver = wanted < (await usage.months.current());
  return refuse.notFound(
    isOver
      ? `There is no statement of ${wanted}: no money moved, or it is being closed, which takes minutes after the month's end.`
      : `The month ${wanted} is not over. Its statement is closed minutes after its end, and has what was committed until then.`,
    { param: "month", code: isOver ? "no_statement" : "month_not_over" },
  );
}

/** Returns the terms that were kept when a statement was closed; one that was missing is as it is today. */
async function termsOf(
  services: Services,
  options: Options,
  statement: ClosedStatement,
): Promise<Terms> {
  const kept = JSON.parse(statement.invoice) as Terms;
  if (kept.seller && kept.buyer && kept.vat_percent !== null) return kept;
  const now = await currentTerms(services, options, statement);
  return {
    seller: kept.seller ?? now.seller,
    buyer: kept.buyer ?? now.buyer,
    vat_percent: kept.vat_percent ?? now.vat_percent,
  };
}

/** Returns the row of a statement in the list for the books: its amounts, and whom to write the invoice to. */
async function invoiceRow(
  services: Services,
  options: Options,
  statement: ClosedStatement,
  soldMicroVnd: bigint,
) {
  const [{ buyer, vat_percent }, account] = await Promise.all([
    termsOf(services, options, statement),
    services.accounts.find(statement.accountId),
  ]);
  return {
    account: statement.accountId,
    email: account?.email ?? null,
    month: statement.month,
    statement: statement.number,
    ...amountsJson(soldMicroVnd, vat_percent),
    buyer_name: buyer?.name ?? null,
    buyer_tax_code: buyer?.tax_code ?? null,
    buyer_address: buyer?.address ?? null,
  };
}

async function json(
  services: Services,
  options: Options,
  statement: ClosedStatement,
  rowsMax: number,
): Promise<PlainResponse & { readonly body: AsyncIterable<string> }> {
  const terms = await termsOf(services, options, statement);
  return {
    status: 200,
    headers: ["content-type", "application/json", "cache-control", "no-store"],
    body: jsonOf(services.usage.months, statement, terms, rowsMax),
  };
}

async function fileOf(
  services: Services,
  options: Options,
  statement: ClosedStatement,
  form: Decimal | "json",
): Promise<PlainResponse & { readonly body: AsyncIterable<string> }> {
  const isJson = form === "json";
  const name = `statement-${statement.month}.${isJson ? "json" : "csv"}`;
  const headers = [
    ...fileHeaders(name, isJson ? "application/json" : undefined),
    ...["x-content-type-options", "nosniff"],
  ];
  if (!isJson) return { status: 200, headers, body: csvOf(services.usage.months, statement, form) };
  const { body } = await json(services, options, statement, Number.POSITIVE_INFINITY);
  return { status: 200, headers, body };
}
