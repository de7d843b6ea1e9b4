import t from "tap";
import { startTestLedger } from "../money/ledger/test-ledger.ts";
import { accountTests } from "./account-tests.ts";
import { changeTests } from "./change-tests.ts";
import { keyTests } from "./key-tests.ts";
import { accountsOn } from "./under-test.ts";

t.test("accounts on Postgres", async (t) => {
  const books = await startTestLedger(10);
  t.teardown(() => books.stop());
  await books.ledger.start();
  const subject = accountsOn(books);
  accountTests(t, subject);
  keyTests(t, subject);
  changeTests(t, subject);
});
