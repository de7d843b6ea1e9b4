import t from "tap";
import { readVariables, writeVariables } from "../../../plugins/admin/cli/env-file.ts";

const FILE = `# Mine
A=1
  B='two words'
C="3"  
https_proxy=http://127.0.0.1:9
export D=4
`;

t.test("reads what systemd reads, a proxy in small letters too", async (t) => {
  t.strictSame(Object.fromEntries(readVariables(FILE)), {
    ...{ A: "1", B: "two words", C: "3" },
    https_proxy: "http://127.0.0.1:9",
  });
});

t.test("changes the lines of other values alone, each of a name that is there twice", async (t) => {
  t.equal(writeVariables(FILE, readVariables(FILE)), FILE);
  const changed = writeVariables(`${FILE}A=2`, new Map(Object.entries({ A: "3", E: "5 5" })));
  t.equal(changed, `${FILE.replace("A=1", "A=3")}A=3\nE='5 5'\n`);
});
