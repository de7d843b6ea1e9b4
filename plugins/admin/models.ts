import {
  done,
  type Model,
  type OperatorRoute,
  type Services,
  statedOf,
} from "../../core/plugin/index.ts";

/** Route that lists the models of the catalogue with prices and routes, as this process runs them. */
export function modelRoutes(services: Services): OperatorRoute[] {
  return [
    {
      method: "GET",
      path: "/models",
      async handle() {
        // Read at each request: a reload replaces it.
        const { models, notOffered } = services.catalogue;
        const shown = (offered: boolean) => (model: Model) => modelBody(model, offered);
        return done([...models.map(shown(true)), ...notOffered.map(shown(false))]);
      },
    },
  ];
}

function modelBody({ id, standard, price, routes, catalogueVersion }: Model, offered: boolean) {
  return {
    id,
    standard,
    offered,
    price_vnd: price.vnd,
    price_unit: price.unit,
    price_factors: statedOf(price.factors) ?? {},
    routes: routes.map(({ upstream, model, priority, weight }) => ({
      upstream,
      model,
      priority,
      weight,
    })),
    catalogue: catalogueVersion,
  };
}
