import t from "tap";
import { KnownMaintenance, type Maintenance } from "../../../plugins/maintenance/state.ts";

const at = (enabled: boolean): Maintenance => ({ enabled, message: null, since: new Date(0) });

t.test(
  "a read that started before this process switched maintenance off does not switch it on again",
  async (t) => {
    let reply: (rows: Maintenance[]) => void = () => {};
    const database = {
      query: <Row extends object>() =>
        new Promise<Row[]>((resolve) => {
          reply = (rows) => resolve(rows as object[] as Row[]);
        }),
    };
    const seen: boolean[] = [];
    const known = new KnownMaintenance(database, ({ enabled }) => seen.push(enabled));

    const reading = known.refresh();
    known.switched(at(false));
    reply([at(true)]);
    await reading;
    t.strictSame(seen, [false]);

    const next = known.refresh();
    reply([at(true)]);
    await next;
    t.strictSame(seen, [false, true]);
  },
);
