import t from "tap";
import { v } from "../../../core/plugin/index.ts";
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
  const isValid = (name: string, hold: unknown, estimate: unknown) =>
    v.safeParse(options, { hold: { [name]: hold }, estimate: { [name]: estimate } }).success;
  for (const name of Object.keys(DEFAULTS.hold)) {
    const [least, most] = name.endsWith("_share") ? [0, 10] : [0.1, 100_000];
    for (const right of [least, most]) t.ok(isValid(name, right, right), `${name}: ${right}`);
    for (const wrong of [least - 0.01, most + 0.01, "1", null]) {
      t.notOk(isValid(name, wrong, wrong), `${name}: ${wrong}`);
    }
    const isDivisor = name.endsWith("_per_token");
    t.equal(isValid(name, 1, 2), isDivisor, `${name}: an estimate is never more than a hold`);
    t.equal(isValid(name, 2, 1), !isDivisor, name);
  }
  for (const part of ["hold", "estimate", "none"]) {
    t.notOk(v.safeParse(options, { [part]: { other: 1 } }).success);
  }
});

t.test("the order of plugins is checked by what the plugin declares", async (t) => {
  t.strictSame([...requires].sort(), ["key", "model", "upstream"]);
  t.strictSame([sets, provides, reads], [["usage"], ["bodyMeasures"], ["headers"]]);
});
