import assert from "node:assert/strict";
import t from "tap";
import { readBankTime } from "../../../plugins/topup/bank-time.ts";
import type { Settings } from "../../../plugins/topup/options.ts";
import { readStatement } from "../../../plugins/topup/statement.ts";
import { BANK } from "./topups.ts";

const SETTINGS = { bank: BANK, order_prefix: "TG" } as Settings;
const NOW = new Date("2026-11-27T12:00:00Z");
const MICRO = 1_000_000n;

const read = (csv: string) => readStatement(csv, SETTINGS, NOW);

/** Returns the rows of a statement in short: line, amount, day, reference, content. */
function rowsOf(csv: string) {
  const found = read(csv);
  assert.ok(typeof found !== "string", String(found));
  return found.rows.map(({ line, report }) => [
    ...[line, (report.amountMicroVnd ?? 0n) / MICRO, report.bankDay],
    ...[report.bankReference, report.content],
  ]);
}

t.test("reads statements as banks and SePay write them", async (t) => {
  const vietnamese = `SAO KÊ TÀI KHOẢN
Số tài khoản/Account number: 0123 499 999
"Ngày giao dịch/
Transaction date";Số bút toán;Số tiền ghi nợ/ Debit;Số tiền ghi có/ Credit;Số dư;"Nội dung chi tiết/ Transactions in detail"
21/11/2026 14:02:37;FT26325001;;1.100.000;9.000.000;TG34679ACD chuyen tien
21/11/2026;FT26325002;50.000;;8.950.000;rut tien
22/11/2026;FT26326003;;100.000;9.050.000;"mot ""hai""; ba"
Tổng cộng;;50.000;1.200.000;;
`;
  t.strictSame(rowsOf(`\ufeff${vietnamese.replaceAll("\n", "\r\n")}`), [
    [5, 1_100_000n, "2026-11-21", "FT26325001", "TG34679ACD chuyen tien"],
    [7, 100_000n, "2026-11-22", "FT26326003", 'mot "hai"; ba'],
  ]);
  const found = read(vietnamese);
  assert.ok(typeof found !== "string");
  t.strictSame([found.outgoing, found.skippedLines], [1, [8]]);
  const [first, second] = found.rows;
  t.equal(first?.report.at?.toISOString(), "2026-11-21T07:02:37.000Z");
  t.equal(second?.report.at, undefined);
  t.strictSame(first?.report.codes, ["TG34679ACD"]);

  const english = `Date,Amount,Type,Reference,Description
2026-11-21 00:30:00,"18,067,000.00",in,MBVCB.3278907687,x
2026-11-21,"1,000.00",out,MBVCB.3278907688,x`;
  t.strictSame(rowsOf(english), [[2, 18_067_000n, "2026-11-21", "MBVCB.3278907687", "x"]]);

  const sepay = `id,bank_brand_name,account_number,transaction_date,amount_out,amount_in,accumulated,transaction_content,reference_number,code,sub_account
49682,Vietcombank,0123499999,2026-11-05 19:17:28,0.00,18067000.00,5.00,TG34679ACD,331.1,,
49683,ACB,777,2026-11-05 19:17:28,0.00,18067000.00,5.00,x,331.2,,`;
  t.strictSame(rowsOf(sepay), [[2, 18_067_000n, "2026-11-05", "331.1", "TG34679ACD"]]);
  const exported = read(sepay);
  assert.ok(typeof exported !== "string");
  t.strictSame([exported.rows[0]?.report.id, exported.otherAccounts], ["49682", 1]);

  const signed = "Ngày;Số tiền;Nội dung\n14:02 21/11/2026;+100000;x\n21-11-2026;-5000;y";
  t.strictSame(rowsOf(signed), [[2, 100_000n, "2026-11-21", null, "x"]]);
});

t.test("reads days and times in the forms that banks and spreadsheets write", async (t) => {
  for (const [text, day, at] of [
    ["21-Nov-26", "2026-11-21", undefined],
    ["21 november 2026 14:02", "2026-11-21", "2026-11-21T07:02:00.000Z"],
    ["2026/11/21", "2026-11-21", undefined],
    ["14:02 21-11-2026", "2026-11-21", "2026-11-21T07:02:00.000Z"],
    ["21/11/2026 2:02:37 PM", "2026-11-21", "2026-11-21T07:02:37.000Z"],
    ["21/11/2026 12:30 am", "2026-11-21", "2026-11-20T17:30:00.000Z"],
    ["12:30:00 CH 21/11/2026", "2026-11-21", "2026-11-21T05:30:00.000Z"],
    ["21/11/2026 8:00 SA", "2026-11-21", "2026-11-21T01:00:00.000Z"],
    ["2026-11-21T14:02:37.000Z", "2026-11-21", "2026-11-21T14:02:37.000Z"],
    ["2026-11-21 23:30:00 -0500", "2026-11-22", "2026-11-22T04:30:00.000Z"],
  ] as const) {
    const time = readBankTime(text);
    t.strictSame([time?.day, time?.at?.toISOString()], [day, at], text);
  }
  for (const text of ["31-Feb-26", "30/02/2026", "21/11/2026 25:00"])
    t.equal(readBankTime(text), null, text);
  // The 26th of 2021 and the 21st of 2026 have one text.
  for (const text of ["21/11/26", "46347", "21-Now-26", "21-Nov-202", ""])
    t.equal(readBankTime(text), undefined, text);
});

t.test("finds the columns of a bank that has words of its own, or two languages", async (t) => {
  const acb = `Ngày hiệu lực;Ngày GD;Số GD;Nội dung giao dịch;Tiền rút ra;Tiền gửi vào;Số dư
21/11/2026;21/11/2026;8812;TG34679ACD;.00;1,100,000.00;9,000,000.00
21/11/2026;21/11/2026;8813;x;5,000.00;.00;9,000,000.00`;
  t.strictSame(rowsOf(acb), [[2, 1_100_000n, "2026-11-21", "8812", "TG34679ACD"]]);
  const both = `Ngày giao dịch Transaction date;Số tham chiếu Reference No;Phát sinh nợ Debit;Phát sinh có Credit;Diễn giải Description
21/11/2026;FT1;;1.100.000,00;x`;
  t.strictSame(rowsOf(both), [[2, 1_100_000n, "2026-11-21", "FT1", "x"]]);
  t.match(read("Ngày;Số dư có;Nội dung\n21/11/2026;5000;x"), /no header/);
});

t.test("leaves out the rows of other accounts, and says how many there are", async (t) => {
  const rows = (head: string, ...lines: string[]) => {
    const found = read([head, ...lines].join("\n"));
    return typeof found === "string"
      ? found
      : [found.rows.map(({ line }) => line), found.otherAccounts];
  };
  const head = "Ngày;Ghi có;Nội dung;Số tài khoản";
  const [ours, other] = ["21/11/2026;5000;x;0123499999", "21/11/2026;5000;x;777888999"];
  t.strictSame(rows(head, ours, other), [[2], 1]);
  // The column may be that of the payers.
  t.strictSame(rows(`Số tài khoản: 0123499999\n${head}`, other), [[3], 0]);
  t.strictSame(rows(`Số tài khoản: 0123499999\n${head}`, other, ours), [[4], 1]);
  t.match(rows(head, other), /The column of accounts has 777888999, but nowhere 0123499999/);
  // Sections, each of an account.
  const short = "Ngày;Ghi có;Nội dung";
  const [row, mine, theirs] = [
    "21/11/2026;5000;STK 777888999",
    "Số tài khoản / Account number;0123 499 999;VND",
    "Số tài khoản: 777888999",
  ];
  t.strictSame(rows(mine, short, row, theirs, short, row, mine, row), [[3, 8], 1]);
  t.strictSame(rows(theirs, short, row, mine, short, row), [[6], 1]);
  // A second line of a content.
  for (const text of ["chuyen tu STK 777888999", "STK 777888999", "Tài khoản 777888999"])
    t.strictSame(rows(mine, short, row, `;;${text}`, row), [[3, 5], 0], text);
  // Other numbers after that of the account.
  for (const above of [
    "Số tài khoản;0123499999;01/11/2026 - 30/11/2026",
    "Số tài khoản: 0123499999 01/11/2026 - 30/11/2026",
    "Account No;0123499999;19001234",
  ])
    t.strictSame(rows(above, short, row), [[3], 0], above);
});

t.test("takes the number of a virtual account as the bank or SePay writes it", async (t) => {
  const bank = { ...BANK, account_number: "963NTP0001" };
  const of = (main_account_number: string | undefined, csv: string) => {
    const settings = { ...SETTINGS, bank, ...(main_account_number && { main_account_number }) };
    const found = readStatement(csv, settings, NOW);
    return typeof found === "string" ? found : [found.rows.length, found.otherAccounts];
  };
  const sepay = `transaction_date,amount_in,transaction_content,account_number,sub_account
2026-11-05 19:17:28,5000.00,x,6868123456,963ntp0001
2026-11-05 19:17:28,5000.00,x,6868123456,963NTP0002`;
  t.strictSame(of(undefined, sepay), [1, 1]);
  t.strictSame(of("6868123456", sepay), [1, 1]);
  const main = "Số tài khoản: 6868123456\nNgày;Ghi có;Nội dung\n21/11/2026;5000;x";
  t.match(of(undefined, main), /of the account 6868123456/);
  t.strictSame(of("6868123456", main), [1, 0]);
});

t.test("gives equal rows of a file different ids, and the same row always the same", async (t) => {
  const row = "21/11/2026;100000;x";
  const ids = (csv: string) => {
    const found = read(csv);
    return typeof found === "string" ? found : found.rows.map(({ report }) => report.id);
  };
  const head = "Ngày;Ghi có;Nội dung";
  const twice = ids([head, row, row].join("\n"));
  t.equal(new Set(twice).size, 2);
  t.strictSame(ids([head, "20/11/2026;5000;y", row].join("\n"))[1], twice[0]);
});

t.test("refuses a file of which any row is not clear, and says what to do", async (t) => {
  const head = "Ngày;Ghi có;Ghi nợ;Nội dung";
  for (const [csv, why] of [
    ["", /no header/],
    ["a;b\nc;d", /no header/],
    ["Ngày;Nội dung\n21/11/2026;x", /no header/],
    [`${head}\n21/11/2026;100.000;;x`, /Line 2: 100\.000 can be read as 100000 đ and as 100 đ/],
    [`${head}\n21/11/2026;1.000.000;;x\n21/11/2026;1,000,000;;x`, /decimal point and others/],
    [`${head}\n21/11/2026;1000,50;;x`, /Line 2: 1000,50 is no whole number of đ/],
    [`${head}\n21/11/2026;1.00.000;;x`, /Line 2: .* is no amount/],
    [`${head}\n21/11/2026;many;;x`, /Line 2: "many" is no amount/],
    [`${head}\n21/11/2026;9007199255;;x`, /more than a wallet holds/],
    [`${head}\n21/11/2026;5000;5000;x`, /a credit and a debit/],
    [`${head}\n11/21/2026;5000;;x`, /11\/21\/2026 is no day of the past/],
    [`${head}\n12/12/2026;5000;;x`, /12\/12\/2026 is no day of the past/],
    [`${head}\n21/11/26;5000;;x`, /Line 2: 21\/11\/26 is no day that can be read/],
    [`${head}\n46347;5000;;x`, /Line 2: 46347 is no day/],
    [`${head}\nNov 21, 2026;5000;;x`, /Line 2: Nov 21, 2026 is no day/],
    [`${head}\n30/02/2026;5000;;x`, /no day of the past/],
    ["Ngày;Số tiền;Nội dung\n21/11/2026;5000;x", /came in or went out/],
    [`Số tài khoản: 999888777\n${head}\n21/11/2026;5000;;x`, /of the account 999888777/],
  ] as const) {
    const found = read(csv);
    t.match(typeof found === "string" ? found : "it was read", why, csv);
  }
});

t.test("reads a long file, and one with an open quote, at once", async (t) => {
  const head = "Ngày;Ghi có;Nội dung\n";
  const long = read(head + "21/11/2026;1.000.000;x\n".repeat(5_000));
  t.equal(typeof long === "string" ? long : long.rows.length, 5_000);
  t.match(read(head + "21/11/2026;1.000.000;x\n".repeat(5_001)), /at most 5000/);
  t.match(read(`${head}"${"x".repeat(1_000_000)}`), { rows: [], skippedLines: [2] });
});
