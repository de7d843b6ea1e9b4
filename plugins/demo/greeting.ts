import {
  httpAddress,
  MICRO_VND_PER_VND,
  type MicroVnd,
  program,
  reachableAddress,
  type Services,
} from "../../core/plugin/index.ts";
import { DEMO_EMAIL, OPERATOR_EMAIL } from "./account.ts";
import type { DemoKey } from "./key.ts";

const ADMIN_ADDRESS_DEFAULT = "http://127.0.0.1:8080";

interface Demo {
  readonly address: string;
  readonly key: DemoKey;
  /** The password; undefined if customers cannot sign in. */
  readonly password: string | undefined;
  /** The password of the operator; undefined if only the admin token signs in. */
  readonly operatorPassword: string | undefined;
  readonly balance: MicroVnd;
}

/** Returns what the gateway prints at its start: its address, a key, and commands to copy. */
export function greeting({ config, catalogue }: Services, demo: Demo): string {
  const { balance } = demo;
  const address = reachableAddress(demo.address);
  const isOn = (plugin: string) => config.plugins.some(({ name }) => name === plugin);
  const lines = [`Tollgate takes calls at ${address}`, ""];
  if (demo.key.kind === "key") {
    const { key } = demo.key;
    const amount = new Intl.NumberFormat("en").format(Math.floor(balance / MICRO_VND_PER_VND));
    lines.push(`  demo key     ${key}`, `  balance      ${amount} đ`);
    if (isOn("dashboard"))
      lines.push(`  dashboard    ${address}/dashboard${signInPath(DEMO_EMAIL, demo.password)}`);
    lines.push(`  Claude Code  ANTHROPIC_BASE_URL=${address} ANTHROPIC_AUTH_TOKEN=${key} claude`);
    lines.push("", ...example(address, key, catalogue));
  } else if (demo.key.kind === "too_many") {
    lines.push(
      "  The demo account has 10 active keys, and none can be shown again. Delete the data",
    );
    lines.push("  folder to start again, or create your own account:");
    lines.push(`  ${program.admin} account create --email you@example.com`);
  }
  if (isOn("admin")) {
    const { listen } = config.admin;
    const admin = listen ? reachableAddress(httpAddress(listen.host, listen.port)) : address;
    const url = admin === ADMIN_ADDRESS_DEFAULT ? "" : ` --url ${admin}`;
    const account = `--account ${DEMO_EMAIL}${url}`;
    const token = config.admin.token ? "admin.token" : `${config.stores.data}/admin-token`;
    const signIn = signInPath(OPERATOR_EMAIL, demo.operatorPassword) || `, token: ${token}`;
    const pages = isOn("console") ? [`  console      ${admin}/console${signIn}`] : [];
    const credit = `credit ${account} --amount-vnd 100000 --reference first`;
    lines.push("", ...pages, `  top up       ${program.admin} ${credit}`);
    lines.push(`  wallet       ${program.admin} wallet ${account}`);
    lines.push(`  more         ${program.admin} help`);
  }
  return `\n${lines.join("\n")}\n\n`;
}

/** The form of the sign-in page, filled in. The fragment of an address reaches no server and no log. */
function signInPath(email: string, password: string | undefined): string {
  if (password === undefined) return "";
  return `/sign-in#${new URLSearchParams({ email, password })}`;
}

function example(address: string, key: string, catalogue: Services["catalogue"]): string[] {
  const [model] = catalogue.models
    .filter(({ standard, price }) => standard === "messages" && price.unit === "mtok")
    .sort((a, b) => a.price.vnd - b.price.vnd);
  if (!model) return [`  See ${address}/v1/models for the models.`];
  const messages = [{ role: "user", content: "Hello!" }];
  return [
    `  curl ${address}/v1/messages -H 'x-api-key: ${key}' \\`,
    `    -H 'anthropic-version: 2023-06-01' -H 'content-type: application/json' \\`,
    `    -d '${JSON.stringify({ model: model.id, max_tokens: 100, messages })}'`,
  ];
}
