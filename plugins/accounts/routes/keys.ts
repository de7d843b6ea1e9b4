import {
  type Customer,
  type CustomerRoute,
  done,
  formatVnd,
  isId,
  isRefusal,
  keyLimits,
  type PlainRequest,
  type Refusal,
  readBody,
  reading,
  refuse,
  type Services,
} from "../../../core/plugin/index.ts";
import type { AccountContext } from "../account-context.ts";
import { keyChange, newKey } from "../input.ts";
import { unproven } from "./proof.ts";

/** A list shows only the latest revoked keys, since an account can have any number of them. */
const REVOKED_SHOWN_MAX = 100;

/** Routes for the customer's own API keys. Keys of other customers get 404, as others' keys do for a member of a team. */
export function keyRoutes(context: AccountContext): CustomerRoute[] {
  const { services, sealer, throttle, options, devices } = context;
  const { accounts, keys, usage, log } = services;

  /** Logs that a key was shown, and mails its owner: once in 30 days for a key and a browser, as the chat shows its own. */
  async function noteShown(
    request: PlainRequest,
    { accountId, member, sessionId }: Customer,
    keyId: string,
  ): Promise<void> {
    const person = member?.ownAccountId ?? accountId;
    log.info(
      { account_id: accountId, key_id: keyId, remote_address: request.remoteAddress },
      "an API key was shown to its owner",
    );
    const browser = (await devices.known(request, person, context.isSecure)) ?? sessionId;
    if (await throttle.take(["shown", `${keyId} ${browser}`])) return;
    const key = (await accounts.latestKeys(accountId, REVOKED_SHOWN_MAX, member?.id)).find(
      ({ id }) => id === keyId,
    );
    if (key) await context.tellOwnerAfter(person, "key-shown", describe(key));
  }

  async function sealedKey({ accountId, member }: Customer, id: string) {
    return isId(id) ? accounts.sealedKey(accountId, id, member?.id) : undefined;
  }

  const routes: CustomerRoute[] = [
    {
      method: "GET",
      path: "/keys",
      async handle(_, { accountId, member }) {
        const shown = await accounts.latestKeys(accountId, REVOKED_SHOWN_MAX, member?.id);
        const used = await usage.byKey(
          accountId,
          shown.map(({ id }) => id),
        );
        const usageOf = new Map(used.map((one) => [one.keyId, one]));
        const data = shown.map(async (key) => ({
          ...bodyOf(key, usageOf.get(key.id)),
          ...(await keyLimits.shown(services, key)),
        }));
        return done({
          data: await Promise.all(data),
          // Of the owner, and of each member.
          active_keys_max: options.active_keys_max,
        });
      },
    },
    {
      method: "POST",
      path: "/keys",
      handle: reading(newKey, async (wanted, _, customer) => {
        const { accountId, isEmailVerified, member } = customer;
        const person = member?.ownAccountId ?? accountId;
        if (!isEmailVerified) return notVerified();
        const refusal =
          keyLimits.refusal(wanted.limits, services) ??
          (await unproven(context, customer)) ??
          (await throttle.take(["key", person]));
        if (refusal) return refusal;
        const made = await keys.create(
          accountId,
          wanted.name,
          options.active_keys_max,
          wanted.limits,
          member?.id,
        );
        if (made.kind === "no_account") return refuse.notFound("This account does not exist.");
        if (made.kind === "too_many_keys") return tooMany(options.active_keys_max);
        const { id, key, prefix } = made;
        await context.tellOwnerAfter(person, "key-made", describe({ name: wanted.name, prefix }));
        return done({ id, key, name: wanted.name, prefix }, 201);
      }),
    },
    {
      method: "POST",
      path: "/keys/:key/reveal",
      async handle(request, customer) {
        const id = request.params["key"] ?? "";
        const record = await sealedKey(customer, id);
        if (record === undefined) return noSuchKey();
        if (record === "unsealed") return notRecoverable();
        const refusal = await unproven(context, customer);
        if (refusal) return refusal;
        const key = sealer.unseal(record);
        if (key !== undefined) {
          await noteShown(request, customer, id);
          return done({ key });
        }
        log.error(
          { key_id: id, master_key: record.sealedBy },
          "cannot unseal an API key; the customer sees that it cannot be shown",
        );
        return notRecoverable();
      },
    },
    {
      method: "POST",
      path: "/keys/:key/limits",
      async handle({ params, body }, customer) {
        const id = params["key"] ?? "";
        const record = await sealedKey(customer, id);
        if (record === undefined) return noSuchKey();
        const change = readBody(keyChange, body);
        if (isRefusal(change)) return change;
        // A key is paused without delay, but a stolen session alone cannot make one do more.
        const isPause = change.paused === true && Object.keys(change).length === 1;
        const refusal =
          keyLimits.changeRefusal(change, services) ??
          (isPause ? undefined : await unproven(context, customer));
        if (refusal) return refusal;
        const key = await accounts.setKeyLimits(id, change);
        return key ? done({ id, ...(await keyLimits.shown(services, key)) }) : noSuchKey();
      },
    },
    {
      method: "POST",
      path: "/keys/:key/revoke",
      async handle({ params }, customer) {
        const id = params["key"] ?? "";
        const record = await sealedKey(customer, id);
        if (record === undefined || !(await keys.revoke(id))) return noSuchKey();
        return done({ id, status: "revoked" });
      },
    },
  ];
  return routes.map((route) => ({ ...route, forMembers: true }));
}

function describe({ name, prefix }: Pick<AccountKey, "name" | "prefix">): string {
  return `${name} (${prefix}…)`;
}

type AccountKey = Awaited<ReturnType<Services["accounts"]["keys"]>>[number];
type KeyUsage = Awaited<ReturnType<Services["usage"]["byKey"]>>[number];

function bodyOf(key: AccountKey, used: KeyUsage | undefined): object {
  return {
    id: key.id,
    name: key.name,
    prefix: key.prefix,
    member: key.memberId,
    status: key.status,
    created_at: key.createdAt.toISOString(),
    revoked_at: key.revokedAt?.toISOString() ?? null,
    last_used_at: used?.lastUsedAt.toISOString() ?? null,
    cost_vnd: formatVnd(used?.chargedMicroVnd ?? 0n),
    recoverable: key.isSealed,
  };
}

function noSuchKey(): Refusal {
  return refuse.notFound("You have no such key.", "key");
}

function notVerified(): Refusal {
  const message = "Verify your email address first: open the link that we sent you.";
  return refuse.forbidden(message, { code: "email_not_verified" });
}

function tooMany(max: number): Refusal {
  return refuse.conflict(`You have ${max} active keys, the maximum; revoke one first.`, {
    code: "too_many_keys",
  });
}

function notRecoverable(): Refusal {
  return refuse.conflict("This key cannot be shown again; create a new one.", {
    code: "key_not_recoverable",
  });
}
