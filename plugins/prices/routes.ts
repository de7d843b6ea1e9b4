import {
  confirmation,
  done,
  formatVnd,
  line,
  mapping,
  matching,
  messageOf,
  type OperatorRoute,
  reading,
  refuse,
  rowLimit,
  type Services,
  text,
  v,
} from "../../core/plugin/index.ts";
import { announcementOf } from "./announcement.ts";
import { changesBetween, inWords, type PriceChange, percentOf } from "./changes.ts";
import { type RecordedChange, readHistory } from "./history.ts";

const REASON = "a reason of 1 to 500 characters on one line";
const ID = "the id of a change";

const wanted = mapping({
  check: v.optional(v.boolean("true or false"), false),
  announce: v.optional(v.boolean("true or false"), false),
  reason: v.optional(line(500, REASON)),
  confirm_above_vnd: confirmation.bound,
});
const listed = mapping({ model: v.optional(text("the id of a model")) });
const asked = mapping({
  model: v.optional(text("the id of a model")),
  limit: rowLimit(),
  before: v.optional(
    v.pipe(
      matching(/^\d{1,18}$/, ID),
      v.transform((id: string) => BigInt(id)),
    ),
  ),
});

type Cause = Services["reloads"]["cause"];

/** Routes that reload the config, and show prices and their history. `askOthers` makes the other gateways reload too. */
export function priceRoutes(
  services: Services,
  askOthers: (cause: Cause) => Promise<void>,
): OperatorRoute[] {
  const { database, reloads, messages, clock } = services;
  return [
    {
      method: "POST",
      path: "/reload",
      right: "operations",
      handle: reading(wanted, async (given, { remoteAddress }, operator) => {
        const next = await reloads.read();
        if (!next.ok) return refuse.badRequest(`The config is invalid.\n${next.problems}`);
        const changes = changesBetween(reloads.prices(), next.prices);
        if (!given.check && given.confirm_above_vnd !== undefined && changes.length > 0) {
          return confirmation.question(questionOf(changes, given.announce));
        }
        const cause = { operator: operator.name, remoteAddress };
        let restart: readonly string[] = [];
        if (!given.check) {
          try {
            restart = await next.apply(cause);
          } catch (error) {
            return refuse.badRequest(
              `The config cannot be applied; the one before stays. ${messageOf(error)}`,
            );
          }
          await askOthers(cause);
        }
        const draft = announcementOf(changes);
        const isAnnounced = given.announce && !given.check && draft !== undefined;
        const name = `prices-${new Date(clock.now()).toISOString().replaceAll(":", "-")}`;
        const recipients = isAnnounced
          ? await messages.current.announce({ name, kind: "prices", ...draft })
          : undefined;
        return done({
          applied: !given.check,
          models: next.models,
          catalogue_version: next.catalogueVersion,
          needs_restart: restart,
          changes: changes.map(changeJson),
          ...(isAnnounced && { announcement: name, recipients: recipients ?? 0 }),
          ...(draft && { announcement_vi: draft.vi, announcement_en: draft.en }),
        });
      }),
    },
    {
      method: "GET",
      path: "/prices",
      handle: reading(listed, async (given) => {
        const list = reloads
          .prices()
          .filter(({ model }) => given.model === undefined || model === given.model);
        if (given.model !== undefined && list.length === 0) {
          return refuse.notFound(`model: there is no model ${given.model} on offer`, "model");
        }
        return done(
          list.map(({ model, kind, unit, from, millionths }) => ({
            model,
            kind,
            price: formatVnd(millionths),
            unit,
            takes_effect: from,
          })),
        );
      }),
    },
    {
      method: "GET",
      path: "/prices/history",
      handle: reading(asked, async ({ model, limit, before }) => {
        const rows = await readHistory(database, {
          limit,
          ...(model !== undefined && { model }),
          ...(before !== undefined && { before }),
        });
        return done(rows.map(historyJson));
      }),
    },
  ];
}

/** Changes that a question names. */
const NAMED_MAX = 20;

function questionOf(changes: readonly PriceChange[], isAnnounced: boolean): string {
  const more = changes.length - NAMED_MAX;
  return [
    ...changes.slice(0, NAMED_MAX).map((change) => inWords(change).join(" ")),
    ...(more > 0 ? [`… and ${more} more`] : []),
    `Change these prices at every gateway${isAnnounced ? ", and mail customers about them" : ""}?`,
  ].join("\n");
}

function changeJson(change: PriceChange): object {
  const { model, kind, unit, before, after, takesEffect } = change;
  return {
    model,
    kind,
    change: change.change,
    from: before === null ? null : formatVnd(before),
    to: after === null ? null : formatVnd(after),
    unit,
    percent: percentOf(change),
    takes_effect: takesEffect,
  };
}

function historyJson({ id, at, operator, remoteAddress, ...change }: RecordedChange): object {
  return {
    at: at.toISOString(),
    ...changeJson(change),
    operator,
    remote_address: remoteAddress,
    id: String(id),
  };
}
