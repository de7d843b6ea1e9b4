import t from "tap";
import { ConfigReloads } from "../../../core/boot/config-reloads.ts";
import { systemClock } from "../../../core/process/clock.ts";
import { recordedLog } from "../../support/log.ts";

t.test("a signal whose reload cannot read the config is logged, and ends nothing", async (t) => {
  const { log, lines } = recordedLog();
  const reloads = new ConfigReloads({
    clock: systemClock,
    log,
    load: () => Promise.reject(new Error("no thread could start")),
    config: () => t.fail("nothing is compared") as never,
    replace: () => t.fail("nothing is applied") as never,
  });
  await reloads.run("SIGHUP");
  t.match(lines, [{ msg: "the new config cannot be read; keeping the old one" }]);
  await t.rejects(reloads.read(), /no thread/, "an operator gets the error");
});
