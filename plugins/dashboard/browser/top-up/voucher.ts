import { el, fill } from "../../../page-parts/browser/dom.ts";
import { field, form, notice } from "../../../page-parts/browser/form.ts";
import { exactVnd } from "../../../page-parts/browser/format.ts";
import { card } from "../../../page-parts/browser/page-head.ts";
import { post } from "../api.ts";
import { refreshWallet } from "../balance.ts";
import type { RedeemedVoucher } from "../contract.ts";
import { hasPlugin } from "../plugins.ts";
import { t } from "../text.ts";

/** A form that redeems the code of a voucher. Undefined if the operator has switched vouchers off. */
export function voucherCard(): HTMLElement | undefined {
  if (!hasPlugin("vouchers")) return undefined;
  const code = field(
    t("voucher.code"),
    {
      ...{ name: "voucher", required: true, maxlength: 100 },
      ...{ autocomplete: "off", autocapitalize: "characters", spellcheck: "false" },
    },
    t("voucher.hint"),
  );
  const result = el("div", { "aria-live": "polite" });
  const redeem = async () => {
    fill(result);
    const redeemed = await post<RedeemedVoucher>("/vouchers", { code: code.input.value });
    code.input.value = "";
    void refreshWallet().catch(() => {});
    const text = t(redeemed.applied ? "voucher.done" : "voucher.before", {
      amount: exactVnd(redeemed.amount_vnd),
      balance: exactVnd(redeemed.balance_vnd),
    });
    fill(result, notice(redeemed.applied ? "good" : "info", text));
  };
  return card(t("voucher.title"), form(t("voucher.submit"), redeem, code.element), result);
}
