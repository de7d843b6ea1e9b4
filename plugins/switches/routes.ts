import {
  done,
  formatVnd,
  isRefusal,
  line,
  type Model,
  mapping,
  type OperatorRoute,
  type PlainRequest,
  type Refusal,
  reading,
  refuse,
  type Services,
  Tariff,
  v,
} from "../../core/plugin/index.ts";

type Upstream = NonNullable<ReturnType<Services["upstreams"]["get"]>>;
type Place = {
  readonly name: string;
  readonly upstream: Upstream;
  readonly known: ReturnType<typeof routeOf>;
  readonly key: Upstream["keys"][number] | undefined;
};
type Trial = Awaited<ReturnType<Upstream["try"]>>;

const REASON = "a reason of 1 to 500 characters on one line";
const place = {
  model: v.optional(v.string("the name of a model")),
  key: v.optional(v.string("the last four characters of a key")),
};
const wantedSwitch = mapping({
  ...place,
  off: v.boolean("true or false"),
  reason: line(500, REASON),
});
const wantedTrial = mapping({
  ...place,
  model: v.string("the name of a model"),
  reason: v.optional(line(500, REASON)),
});

interface Stated {
  readonly model?: string;
  readonly key?: string;
}

/** Routes that switch upstreams and try them. Calls `changed` after each switch. */
export function switchRoutes(services: Services, changed: () => Promise<void>): OperatorRoute[] {
  const { database, upstreams, catalogue } = services;

  /** Returns the upstream that a request names, its models, and the key that it states. */
  function placeOf(request: PlainRequest, { model, key }: Stated) {
    const name = request.params["name"] ?? "";
    const upstream = upstreams.get(name);
    if (!upstream) return refuse.notFound(`name: there is no upstream ${name}`, "name");
    const known = model === undefined ? undefined : routeOf(catalogue.models, name, model);
    if (model !== undefined && !known) {
      return refuse.notFound(`model: ${name} has no route for ${model}`, "model");
    }
    const keys = upstream.keys.filter(({ last4 }) => key === undefined || last4 === key);
    if (key !== undefined && keys.length !== 1) {
      const found = keys.length === 0 ? "no key ends" : "several keys end";
      return refuse.notFound(`key: ${found} with ${key}`, "key");
    }
    return { name, upstream, known, key: key === undefined ? undefined : keys[0] };
  }

  async function switchOff(found: Place | Refusal): Promise<object | Refusal> {
    if (isRefusal(found)) return found;
    await database.query(
      "insert into switched_off (upstream, model, key) values ($1, $2, $3) on conflict do nothing",
      [found.name, found.known?.route.model ?? "", found.key?.id ?? ""],
    );
    return {};
  }

  /** The place may have left the config since it was switched off. Returns what is still off of its upstream. */
  async function switchOn(
    { params: { name = "" } }: PlainRequest,
    stated: Stated,
    found: Place | Refusal,
  ): Promise<object | Refusal> {
    const { known, key } = isRefusal(found) ? {} : found;
    const ended = await database.query(
      "delete from switched_off where upstream = $1 and model = $2 and key = $3 returning upstream",
      [name, known?.route.model ?? stated.model ?? "", key?.id ?? stated.key ?? ""],
    );
    const rows = await database.query<{ model: string; key: string }>(
      "select model, key from switched_off where upstream = $1 order by model, key",
      [name],
    );
    const last4Of = (id: string) =>
      upstreams.get(name)?.keys.find((one) => one.id === id)?.last4 ?? id;
    const still = rows.map(({ model, key }) => {
      if (model === "" && key === "") return "all of it";
      return key === "" ? `--model ${model}` : `--key ${last4Of(key)}`;
    });
    if (ended.length > 0) return { still_off: still };
    if (still.length === 0) {
      return isRefusal(found) ? found : refuse.conflict(`Nothing of ${name} is off.`);
    }
    return refuse.conflict(`This is not off. Of ${name} are off: ${still.join(", ")}.`);
  }

  return [
    {
      method: "POST",
      path: "/upstreams/:name/switch",
      right: "operations",
      handle: reading(wantedSwitch, async ({ off, model, key }, request) => {
        if (model !== undefined && key !== undefined) {
          return refuse.badRequest("state a model or a key, not both", "key");
        }
        const stated = { ...(model !== undefined && { model }), ...(key !== undefined && { key }) };
        const found = placeOf(request, stated);
        const still = off ? await switchOff(found) : await switchOn(request, stated, found);
        if (isRefusal(still)) return still;
        await changed();
        const { name: upstream } = request.params;
        return done({ upstream, model: model ?? null, key: key ?? null, off, ...still });
      }),
    },
    {
      method: "POST",
      path: "/upstreams/:name/try",
      right: "operations",
      handle: reading(wantedTrial, async ({ model, key }, request) => {
        const found = placeOf(request, { model, ...(key !== undefined && { key }) });
        if (isRefusal(found)) return found;
        const { upstream, known } = found;
        const [first] = upstream.keys;
        const chosen = found.key ?? first;
        if (!known || !chosen) return refuse.notFound(`model: no route for ${model}`, "model");
        // Its upstream may write text by other models.
        if (!["messages", "chat"].includes(known.model.standard))
          return refuse.badRequest("model: only models that write text can be tried", "model");
        const trial = await upstream.try(known.route, chosen.id);
        return done(shown(trial, known.model, chosen.last4, services));
      }),
    },
  ];
}

/** Returns the route of an upstream for a model, by its id in the catalogue or its name there. */
function routeOf(models: readonly Model[], upstream: string, name: string) {
  for (const model of models) {
    for (const route of model.routes) {
      const isMeant = model.id === name || route.model === name;
      if (route.upstream === upstream && isMeant) return { model, route };
    }
  }
  return undefined;
}

function shown(trial: Trial, model: Model, last4: string, { clock }: Services): object {
  const { served, status, cause, reason, ms, usage } = trial;
  const tariff = Tariff.of(model, 0, [], clock.now());
  const price =
    usage && tariff.unit === "mtok" ? tariff.priceOf(tariff.quantityOf(usage)) : undefined;
  return {
    served,
    status: status ?? null,
    key: last4 === "" ? null : `…${last4}`,
    ...(served ? {} : { cause: cause ?? null, reason: reason ?? null }),
    latency_ms: ms ?? null,
    input_tokens: usage?.inputTokens ?? null,
    output_tokens: usage?.outputTokens ?? null,
    // The amount that a customer without a discount would pay. This call is the operator's.
    price_vnd: price === undefined ? null : formatVnd(price),
  };
}
