import t from "tap";
import { withClientFields } from "../../../plugins/translate/responses/write/kept.ts";

t.test(
  "a tier that a Chat client pays for goes out as Responses, though Messages has none",
  async (t) => {
    const request = { model: "m", input: [], store: false, service_tier: "auto" } as const;
    const given = { service_tier: "priority" };
    const { body, names } = withClientFields({ ...request, input: [] }, "chat", given);
    t.match(body, { service_tier: "priority" });
    t.ok(names.has("service_tier"));
  },
);
