import t from "tap";
import { startGateway } from "../../support/gateway.ts";
import { OutsideFolder } from "../../support/outside.ts";
import { get } from "../../support/requests.ts";

const PLUGIN = `
import { addPublicRoutes, done } from "tollgate/plugin";
export default (services) => ({
  name: "guest-book",
  migrations: new URL("./sql/", import.meta.url),
  start: async () => {
    await services.database.query("insert into guest_book (name) values ($1)", ["start"]);
  },
  routes(router) {
    addPublicRoutes(router, services, "/guests", [
      { method: "GET", path: "", handle: async () => done(await services.database.query("select name from guest_book")) },
    ]);
  },
});
`;

t.test("a plugin with tables, in a folder outside of the project", async (t) => {
  const folder = new OutsideFolder();
  t.teardown(() => folder.remove());
  const plugin = folder.write("guests/plugin.mjs", PLUGIN);
  folder.write("guests/sql/0001-book.sql", "create table guest_book (name text not null);");
  const gateway = await startGateway({ plugins: { [plugin]: true } });
  t.teardown(() => gateway.close());

  t.test("has its tables before its start, and keeps them over a restart", async (t) => {
    t.strictSame((await get(gateway, "/guests", undefined)).json, [{ name: "start" }]);
    await gateway.stop();
    await gateway.start();
    const twice = [{ name: "start" }, { name: "start" }];
    t.strictSame((await get(gateway, "/guests", undefined)).json, twice);
  });

  t.test("does not start if an applied migration has changed, and names it", async (t) => {
    await gateway.stop();
    folder.write("guests/sql/0001-book.sql", "create table guest_book (name text);");
    await t.rejects(gateway.start(), /0001-book\.sql has changed since it was applied/);
  });
});
