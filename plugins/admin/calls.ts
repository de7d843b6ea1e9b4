import {
  done,
  explainedCall,
  type OperatorRoute,
  refuse,
  type Services,
} from "../../core/contract/index.ts";

/** One call of any account by its id alone: its record, what its cost is made of, and the cost computed again. */
export function callRoutes({ wallets }: Services): OperatorRoute[] {
  return [
    {
      method: "GET",
      path: "/calls/:call",
      async handle({ params }) {
        const found = await wallets.call(params["call"] ?? "");
        if (found) return done(explainedCall(found, "admin"));
        return refuse.notFound(
          "There is no such call. If it was made a moment ago, try again: another process may still have it.",
          "call",
        );
      },
    },
  ];
}
