import t from "tap";
import { v } from "../../../core/contract/index.ts";
import { options, provides, reads, requires, sets } from "../../../plugins/meter/index.ts";

/** As the README lists them. */
const DEFAULTS = {
  hold: {
    ...{ ascii_bytes_per_token: 3, other_bytes_per_token: 1.5, image_tokens: 2_500 },
    ...{ document_bytes_per_token: 25, density_share: 1, overhead_share: 1 },
  },
  estimate: {
    ...{ ascii_bytes_per_token: 4.2, other_bytes_per_token: 2.4, image_tokens: 1_200 },
    ...{ document_bytes_per_token: 40, density_share: 0.4, overhead_share: 0.5 },
  },
};

t.test("every factor can be set, within reason", async (t) => {
  t.strictSame(v.parse(options, {}), DEFAULTS);
  t.strictSame(v.parse(options, { hold: {}, estimate: {} }), DEFAULTS);
  for (const part of ["hold", "estimate"] as const) {
    for (const name of Object.keys(DEFAULTS[part])) {
      const [least, most] = name.endsWith("_share") ? [0, 10] : [0.1, 100_000];
      const isValid = (value: unknown) =>
        v.safeParse(options, { [part]: { [name]: value } }).success;
      t.strictSame([isValid(least), isValid(most)], [true, true], name);
      for (const wrong of [least - 0.01, most + 0.01, "1", null]) {
        t.notOk(isValid(wrong), `${name}: ${wrong}`);
      }
    }
    t.notOk(v.safeParse(options, { [part]: { other: 1 } }).success);
  }
  t.notOk(v.safeParse(options, { other: {} }).success);
});

t.test("the order of plugins is checked by what the plugin declares", async (t) => {
  t.strictSame([...requires].sort(), ["key", "model", "upstream"]);
  t.strictSame([sets, provides, reads], [["usage"], ["bodyMeasures"], ["headers"]]);
});
