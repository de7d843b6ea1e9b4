import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startGateway, type TestGateway } from "../../support/gateway.ts";
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

describe("a plugin with tables, in a folder of its own", () => {
  let folder: OutsideFolder;
  let gateway: TestGateway;
  before(async () => {
    folder = new OutsideFolder();
    const plugin = folder.write("guests/plugin.mjs", PLUGIN);
    folder.write("guests/sql/0001-book.sql", "create table guest_book (name text not null);");
    gateway = await startGateway({ plugins: { [plugin]: true } });
  });
  after(async () => {
    await gateway?.close();
    folder?.remove();
  });

  it("has them before its start, and keeps them over a restart", async () => {
    assert.deepEqual((await get(gateway, "/guests", undefined)).json, [{ name: "start" }]);
    await gateway.stop();
    await gateway.start();
    const twice = [{ name: "start" }, { name: "start" }];
    assert.deepEqual((await get(gateway, "/guests", undefined)).json, twice);
  });

  it("does not start with a migration that has changed, and says which", async () => {
    await gateway.stop();
    folder.write("guests/sql/0001-book.sql", "create table guest_book (name text);");
    await assert.rejects(gateway.start(), /0001-book\.sql has changed since it was applied/);
  });
});
