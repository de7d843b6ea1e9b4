import type { Services } from "../../core/plugin/index.ts";

/** A state that needs a person. */
export interface Trouble {
  /** The same as long as it lasts, at every gateway. */
  readonly cause: string;
  readonly vi: string;
  readonly en: string;
  /** The page of the console on which it is done. */
  readonly path: string;
  /** When the newest of several parts of it began: each is news. */
  readonly newest?: Date | undefined;
}

/** A gauge above a bound is a trouble; `n` is its value. */
interface GaugeRule extends Omit<Trouble, "cause" | "vi" | "en"> {
  readonly gauge: string;
  readonly above: number | ((config: Services["config"]) => number);
  vi(n: number): string;
  en(n: number): string;
}

/** A hold outlives the longest call by less than this: by the lease of a dead gateway. */
const HOLD_SECONDS_MAX = 300;
const COMMIT_SECONDS_MAX = 60;
/** One is made each hour. */
const BACKUP_SECONDS_MAX = 3 * 3_600;
/** It is tried five times by then. */
const MAIL_SECONDS_MAX = 15 * 60;
/** Causes of a rest that only its owner can end: he pays, or replaces the key. */
const KEY_FAULTS = new Set(["account", "key", "access"]);

const RULES: readonly GaugeRule[] = [
  {
    gauge: "tollgate_unmatched_transfers",
    above: 0,
    vi: (n) => `${n} khoản chuyển khoản chưa rõ của ai`,
    en: (n) => `${n} bank transfers have no clear owner`,
    path: "/money?state=unmatched",
  },
  {
    gauge: "tollgate_pending_approvals",
    above: 0,
    vi: (n) => `${n} khoản tiền chờ người thứ hai duyệt`,
    en: (n) => `${n} movements of money wait for a second person`,
    path: "/approvals",
  },
  {
    gauge: "tollgate_drifting_wallets",
    above: 0,
    vi: (n) => `${n} ví lệch với sổ cái`,
    en: (n) => `${n} wallets differ from the ledger`,
    path: "/books",
  },
  {
    gauge: "tollgate_quarantined_calls",
    above: 0,
    vi: (n) => `${n} lượt gọi bị cách ly, chưa vào sổ cái`,
    en: (n) => `${n} calls are in quarantine, and not in the ledger`,
    path: "/books",
  },
  {
    gauge: "tollgate_oldest_hold_seconds",
    above: ({ limits }) => limits.callMs / 1_000 + HOLD_SECONDS_MAX,
    vi: (n) => `Một khoản giữ chỗ đã ${minutes(n)} phút chưa kết thúc`,
    en: (n) => `A hold has not ended for ${minutes(n)} minutes`,
    path: "/books",
  },
  {
    gauge: "tollgate_oldest_uncommitted_seconds",
    above: COMMIT_SECONDS_MAX,
    vi: (n) => `Sổ cái chậm: một lượt gọi đã chờ ${Math.round(n)} giây`,
    en: (n) => `The ledger is late: a call has waited for ${Math.round(n)} seconds`,
    path: "/servers",
  },
  {
    gauge: "tollgate_statements_failing",
    above: 0,
    vi: (n) => `Không chốt được sao kê của ${n} khách hàng`,
    en: (n) => `The statements of ${n} customers cannot be closed`,
    path: "/servers",
  },
  {
    gauge: "tollgate_backup_age_seconds",
    above: BACKUP_SECONDS_MAX,
    vi: (n) => `Đã ${minutes(n)} phút chưa ghi nhận bản sao lưu nào của sổ cái`,
    en: (n) => `No backup of the ledger was recorded for ${minutes(n)} minutes`,
    path: "/servers",
  },
  {
    gauge: "tollgate_servers_that_differ",
    above: 0,
    vi: (n) => `${n} tiến trình phục vụ bằng cấu hình hoặc phiên bản khác`,
    en: (n) => `${n} processes serve by another config or build`,
    path: "/servers",
  },
  {
    gauge: "tollgate_mails_late_seconds",
    above: MAIL_SECONDS_MAX,
    vi: (n) => `Máy chủ thư không nhận thư cho khách đã ${minutes(n)} phút`,
    en: (n) => `The mail server has taken no mail to customers for ${minutes(n)} minutes`,
    path: "/messages",
  },
  {
    gauge: "tollgate_messages_given_up",
    above: 0,
    vi: (n) => `Không gửi được ${n} thư cho khách: message list --state failed`,
    en: (n) => `${n} mails to customers were given up: message list --state failed`,
    path: "/messages?state=failed",
  },
];

function minutes(seconds: number): number {
  return Math.round(seconds / 60);
}

/** Returns what needs a person, as this process sees it. */
export function findTroubles(services: Services): Trouble[] {
  return [...ofGauges(services), ...ofStores(services), ...ofUpstreams(services)];
}

/** Returns the trouble of a channel to operators that takes no messages. It has no parts: one more message that it refuses is no news. */
export function ofChannel({ channel, failure }: { channel: string; failure: string }): Trouble {
  return {
    cause: `channel ${channel}`,
    vi: `Kênh ${channel} không nhận tin (${failure}): sửa xong thì message retry-all`,
    en: `The channel ${channel} takes no message (${failure}): message retry-all once it is mended`,
    path: "/messages?state=failed",
  };
}

function ofGauges({ gauges, config }: Services): Trouble[] {
  const known = new Map(gauges.all.map((gauge) => [gauge.name, gauge]));
  return RULES.flatMap(({ gauge: cause, above, vi, en, path }) => {
    const gauge = known.get(cause);
    const value = gauge?.value() ?? 0;
    if (value <= (typeof above === "number" ? above : above(config))) return [];
    return [{ cause, vi: vi(value), en: en(value), path, newest: gauge?.newest?.() }];
  });
}

function ofStores({ status }: Services): Trouble[] {
  const path = "/servers";
  const health = status.holdStoreHealth();
  const found: Trouble[] = status.storeFaults
    .filter(({ breaks }) => breaks)
    .map(({ store, setting, advice }) => ({
      cause: `setting ${store} ${setting}`,
      vi: `Lỗi ${setting} của ${store} khiến không cổng nào khởi động được: ${advice}`,
      en: `No gateway starts with this fault of ${store}, ${setting}: ${advice}`,
      path,
    }));
  if (health.kind !== "ok") {
    const { cause, reason } = health;
    const vi = `Cổng từ chối lượt gọi: ${reason}`;
    found.push({ cause: `stores ${cause}`, vi, en: `Calls are refused: ${reason}`, path });
  }
  if (status.ledgerWentBack()) {
    const vi = "Sổ cái thiếu giao dịch đã ghi: không lượt gọi nào được phục vụ cho đến khi restore";
    const en = "The ledger lacks commits: no call is served until an operator restores";
    found.push({ cause: "ledger went back", vi, en, path });
  }
  return found;
}

function ofUpstreams({ upstreams, clock }: Services): Trouble[] {
  const path = "/upstreams";
  return [...upstreams.all()].flatMap(({ name, breakers, keys }) => {
    const open = [...breakers].filter(({ breaker }) => breaker.state !== "closed");
    const models = open.map(({ model }) => model).filter((model) => model !== "");
    const of = models.length > 0 ? ` (${models.slice(0, 10).join(", ")})` : "";
    const ofBreakers = {
      cause: `breaker ${name}`,
      vi: `Nhà cung cấp ${name} đang lỗi${of}`,
      en: `The provider ${name} fails${of}`,
      path,
    };
    const refused = keys.flatMap((key): Trouble[] => {
      const rest = key.restsAt(clock.monotonic()).find(({ fault }) => KEY_FAULTS.has(fault));
      if (!rest || key.isOff) return [];
      const isAccount = rest.fault === "account";
      const vi = isAccount
        ? `Tài khoản ở nhà cung cấp ${name} hết tiền hoặc bị khóa (khóa …${key.last4})`
        : `Nhà cung cấp ${name} từ chối khóa …${key.last4} (${rest.fault})`;
      const en = isAccount
        ? `The account at the provider ${name} is empty or blocked (key …${key.last4})`
        : `The provider ${name} refuses the key …${key.last4} (${rest.fault})`;
      return [{ cause: `key ${name} ${key.id}`, vi, en, path }];
    });
    return [...(open.length > 0 ? [ofBreakers] : []), ...refused];
  });
}
