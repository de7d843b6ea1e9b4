import {
  done,
  explainedCall,
  type OperatorRoute,
  refuse,
  type Services,
} from "../../core/contract/index.ts";

/** Route that shows one call by its id: its record, the parts of its cost, and the cost computed again. */
export function callRoutes({ wallets }: Services): OperatorRoute[] {
  return [
    {
      method: "GET",
      path: "/calls/:call",
      async handle({ params }) {
        const found = await wallets.call(params["call"] ?? "");
        if (found) return done(explainedCall(found, "admin"));
        return refuse.notFound(
          "There is no such call. If it has just ended, try again in a few seconds.",
          "call",
        );
      },
    },
  ];
}
