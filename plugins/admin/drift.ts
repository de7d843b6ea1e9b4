import {
  confirmation,
  done,
  formatVnd,
  type OperatorRoute,
  reading,
  refuse,
  type Services,
} from "../../core/plugin/index.ts";
import { driftMend, driftQuery } from "./input.ts";
import { unknownAccount } from "./unknown.ts";

type Drifts = Services["operations"]["current"]["drifts"];
type Drift = NonNullable<Awaited<ReturnType<Drifts["show"]>>>;
type Language = "en" | "vi";

/** Routes that show which figure of a wallet, or of a purse, is wrong, and mend it. */
export function driftRoutes(services: Services): OperatorRoute[] {
  const { operations } = services;
  return [
    {
      method: "GET",
      path: "/accounts/:account/drift",
      handle: reading(driftQuery, async (wanted, { params }) => {
        const account = params["account"] ?? "";
        const drift = await operations.current.drifts.show(account, wanted.purse);
        return drift ? done(driftJson(drift, wanted.language)) : unknownAccount(account);
      }),
    },
    {
      method: "POST",
      path: "/accounts/:account/drift",
      right: "money",
      handle: reading(driftMend, async (wanted, request, operator) => {
        const { params } = request;
        const accountId = params["account"] ?? "";
        const { purse, difference_vnd: difference, reason } = wanted;
        const { drifts } = operations.current;
        const found = await drifts.show(accountId, purse);
        if (!found) return unknownAccount(accountId);
        if (found.differenceMicroVnd !== difference) return changed(found);
        // A purse only counts what was spent: no money moves.
        const amountMicroVnd = purse === null ? difference : 0n;
        const moved = { operator, request, accountId, amountMicroVnd };
        const asked = await confirmation.needed(services, moved, wanted.confirm_above_vnd);
        if (asked) return asked;
        const result = await drifts.mend(accountId, purse, difference, reason);
        if (!result) return unknownAccount(accountId);
        switch (result.kind) {
          case "mended":
            return done(driftJson(result.drift, "en"));
          case "changed":
            return changed(result.drift);
          case "not_mendable":
            return refuse.conflict(NEXT[result.drift.cause].en, { code: "not_mendable" });
          case "in_use":
            return refuse.conflict(
              "The ledger is right; calls of this account still use the amount that is loaded. Suspend the account until they " +
                "are over, and mend again; or restore --yes loads every wallet again.",
              { code: "calls_running" },
            );
        }
      }),
    },
  ];
}

function changed({ differenceMicroVnd }: Drift) {
  const now = formatVnd(differenceMicroVnd);
  return refuse.conflict(
    `The difference is ${now} đ now. Nothing has changed; look at it again: drift show.`,
    { code: "drift_changed", param: "difference_vnd" },
  );
}

function driftJson(drift: Drift, language: Language) {
  const { row, evidence, cause, isMendable, differenceMicroVnd } = drift;
  const vnd = (amount: bigint | null | undefined) => (amount == null ? null : formatVnd(amount));
  const loaded = row.availableMicroVnd + row.heldMicroVnd + row.uncommittedMicroVnd;
  return {
    account_id: row.accountId,
    purse: row.purse,
    cause,
    difference_vnd: formatVnd(differenceMicroVnd),
    can_be_mended: isMendable,
    next: NEXT[cause][language],
    proven_vnd: vnd(evidence ? evidence.proven : 0n),
    balance_vnd: vnd(evidence?.balance ?? 0n),
    rows_vnd: vnd(evidence?.entries ?? 0n),
    loaded_vnd: vnd(loaded),
    quarantined_vnd: vnd(evidence?.quarantined ?? 0n),
    ...(evidence?.lastBalance !== undefined && {
      last_row_vnd: vnd(evidence.lastBalance),
      broken_rows: Number(evidence.breaks ?? 0n),
      added_by_rows_vnd: vnd(evidence.added),
      added_by_sums_vnd: vnd(evidence.credited),
      taken_by_rows_vnd: vnd(evidence.taken),
      charged_by_rows_vnd: vnd(evidence.charged),
      charged_by_usage_vnd: vnd(evidence.counted),
    }),
  };
}

const NEXT: Readonly<Record<Drift["cause"], Readonly<Record<Language, string>>>> = {
  none: { en: "All figures agree.", vi: "Mọi con số đều khớp." },
  rows: {
    en: "Rows of the ledger were changed by hand: they do not add up to the balances after them, which top-ups and usage prove. Mending leaves the rows and books the difference as an adjustment.",
    vi: "Có dòng trong sổ cái bị sửa tay: tổng các dòng lệch với số dư sau chúng, là số mà tiền nạp và mức sử dụng chứng minh. Sửa lệch giữ nguyên các dòng và ghi chênh lệch thành một dòng điều chỉnh.",
  },
  balance: {
    en: "The stored figure was changed by hand; the rows of the ledger prove another one. Mending adds up the rows again and stores their sum. If the customer should have the difference, credit it then.",
    vi: "Con số được lưu bị sửa tay; các dòng trong sổ cái chứng minh số khác. Sửa lệch cộng lại các dòng và lưu tổng. Nếu khách đáng được khoản chênh lệch, hãy cộng tiền sau đó.",
  },
  loaded: {
    en: "The ledger is right; the gateways have loaded another amount. Mending forgets it, and the next call loads the ledger's. It ends by itself after a day without a call, and with restore --yes.",
    vi: "Sổ cái đúng; các cổng đã nạp số khác. Sửa lệch bỏ số đó, lượt gọi tiếp theo nạp số của sổ cái. Tự hết sau một ngày không có lượt gọi, hoặc với restore --yes.",
  },
  quarantine: {
    en: "Calls in quarantine are charged, and not in the ledger yet. It ends with quarantine retry, once the balance covers them.",
    vi: "Có lượt gọi đang cách ly đã tính tiền nhưng chưa vào sổ cái. Hết khi chạy quarantine retry, lúc số dư đủ trả.",
  },
  proof: {
    en: "Only the sum that reconcile keeps is wrong. It ends with reconcile --full.",
    vi: "Chỉ tổng mà reconcile lưu bị sai. Hết khi chạy reconcile --full.",
  },
  unproven: {
    en: "The figures below prove no amount: rows, balances after them, top-ups and usage contradict each other. Compare with a backup, then adjust what you can explain, or restore.",
    vi: "Các con số dưới đây không chứng minh được số nào: các dòng, số dư sau chúng, tiền nạp và mức sử dụng mâu thuẫn nhau. Hãy so với bản sao lưu, rồi điều chỉnh phần giải thích được, hoặc khôi phục.",
  },
};
