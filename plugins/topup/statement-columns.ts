/**
 * Names of the columns of statements: those of Vietnamese banks, in both languages, and of SePay's API and exports,
 * without accents, capitals and signs.
 */
const NAMES = {
  id: "id|id giao dich sepay|sepay id",
  date:
    "ngay|ngay gd|ngay giao dich|ngay gio giao dich|thoi gian|thoi gian giao dich|ngay hach toan|ngay hieu luc|" +
    "transaction date|transactiondate|tnx date|date|posting date|effective date|value date|transaction time",
  credit:
    "so tien ghi co|ghi co|phat sinh co|ps co|so tien co|tien vao|so tien vao|gui vao|tien gui vao|so tien gui vao|co|credit|credit amount|amount in|deposit|money in",
  debit:
    "so tien ghi no|ghi no|phat sinh no|ps no|so tien no|tien ra|so tien ra|rut ra|tien rut ra|so tien rut ra|no|debit|debit amount|amount out|withdrawal|money out",
  amount: "so tien|so tien giao dich|amount|transfer amount|transferamount|transaction amount",
  direction: "loai|loai giao dich|type|transfer type|transfertype|transaction type",
  balance:
    "so du|so du luy ke|luy ke|balance|accumulated|so du sau giao dich|so du sau gd|running balance",
  reference:
    "ma tham chieu|so tham chieu|reference|reference number|reference no|reference code|referencecode|ref|ref no|so but toan|" +
    "so ct|doc no|so chung tu|ma giao dich|ma gd|so giao dich|so gd|transaction no|transaction number|transaction id|ft",
  content:
    "noi dung|noi dung giao dich|noi dung chi tiet|noi dung thanh toan|noi dung chuyen khoan|dien giai|mo ta|mo ta giao dich|" +
    "description|content|details|transaction details|transactions in detail|transaction content|transaction description|remark",
  code: "code|ma thanh toan|code thanh toan|payment code",
  account: "so tai khoan|stk|account number|accountnumber|account no",
  subAccount: "tai khoan ao|tai khoan phu|tk ao|va|sub account|subaccount",
  bank: "ngan hang|bank|bank brand name|gateway",
} as const;

type Column = keyof typeof NAMES;

/** The place of each column in a row. */
export type Columns = Readonly<Partial<Record<Column, number>>>;

const COLUMN_BY_NAME = new Map(
  Object.entries(NAMES).flatMap(([column, names]) =>
    names.split("|").map((name) => [name, column as Column] as const),
  ),
);

/**
 * Returns the columns that a header names; undefined unless they tell day, amount and what the transfer is for. The first
 * of two columns with the same meaning counts.
 */
export function columnsOf(header: readonly string[]): Columns | undefined {
  const columns: Partial<Record<Column, number>> = {};
  for (const [at, cell] of header.entries()) {
    // "Số tiền ghi có/ Credit"
    const names = [cell, ...cell.split(/[/\n(]/)].map(folded);
    const column = names.map(columnNamed).find((one) => one !== undefined);
    if (column !== undefined) columns[column] ??= at;
  }
  const { date, credit, amount, content, reference } = columns;
  const isComplete = date !== undefined && (credit ?? amount) !== undefined;
  return isComplete && (content ?? reference) !== undefined ? columns : undefined;
}

/** Returns the column of a name, or of one in two languages: "Phát sinh có Credit". */
function columnNamed(name: string): Column | undefined {
  const words = name.split(" ");
  const half = (from: number, to?: number) => COLUMN_BY_NAME.get(words.slice(from, to).join(" "));
  const both = words.map((_, at) => (half(0, at) === half(at) ? half(at) : undefined));
  return COLUMN_BY_NAME.get(name) ?? both.find((one) => one !== undefined);
}

const ACCOUNT = /(?:so tai khoan|stk|account (?:no|number))\D{0,40}?(\d[\d ]{4,30}\d)/;

/** Returns the number of the account that a line beside the rows names, if it does. */
export function accountIn(cells: readonly string[]): string | undefined {
  // The number ends at a day, and with its cell.
  const line = cells.map((cell) => folded(cell.replace(/\d+\/\d+\/\d+/g, " on "))).join("|");
  return ACCOUNT.exec(line)?.[1]?.replaceAll(" ", "");
}

/** Returns a text without accents, capitals and signs: `Số tiền/Amount` is `so tien amount`. */
export function folded(text: string): string {
  return text
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replaceAll("đ", "d")
    .replace(/[^a-z0-9]+/g, " ")
    .trim();
}
