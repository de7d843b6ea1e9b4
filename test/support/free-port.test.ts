import { spawn } from "node:child_process";
import { once } from "node:events";
import t from "tap";
import { freePort } from "./free-port.ts";

t.test("the port of a server that restarts is given to no other process", async (t) => {
  const port = await freePort();
  const module = JSON.stringify(new URL("free-port.js", import.meta.url));
  const program = (min: number, max: number) =>
    `import(${module}).then(({ freePort }) => freePort(${min}, ${max})).then(console.log, ({ message }) => console.log(message))`;
  const said = async (min: number, max: number) => {
    const child = spawn(process.execPath, ["-e", program(min, max)]);
    const [line] = await once(child.stdout, "data");
    await once(child, "close");
    return String(line).trim();
  };
  t.equal(await said(port, port), `no port from ${port} to ${port} is free`);
  const freed = Number(await said(port + 1, port + 100));
  t.equal(await freePort(freed, freed), freed, "the port of a process that has ended is free");
});
