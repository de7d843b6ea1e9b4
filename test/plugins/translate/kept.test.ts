import t from "tap";
import { withChatFields } from "../../../plugins/translate/responses/write/kept.ts";

t.test(
  "a tier that a Chat client pays for goes out as Responses, though Messages has none",
  async (t) => {
    const { body, names } = withChatFields({ service_tier: "auto" }, { service_tier: "priority" });
    t.match(body, { service_tier: "priority" });
    t.ok(names.has("service_tier"));
  },
);
