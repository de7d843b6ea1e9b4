import { execFile, execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { packageRoot } from "../../../core/process/root.ts";
import { installedPostgres } from "../../support/postgres-server.ts";
import { until } from "../../support/until.ts";
import { shortLivedFlags } from "../../support/v8-flags.ts";

export const DOMAIN = "api.example.com";
/** The folders of the release, and of the next one. */
const RELEASES = ["/opt/tollgate", "/opt/tollgate-2"];

const OUTPUT_SHOWN = 2_000;

/** The output of a command. */
export interface Result {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Makes this process's own view of the machine: folders of the system that forget every change, and a network without
 * others. Only for a process that has its own namespaces of mounts and network.
 */
export class Machine {
  private constructor(
    private readonly folder: string,
    private readonly path: string,
  ) {}

  static async make(): Promise<Machine> {
    const postgres = await installedPostgres();
    const sh = (script: string, ...words: string[]) =>
      execFileSync("sh", ["-ec", script, "sh", ...words], {
        stdio: ["ignore", "ignore", "inherit"],
      });
    sh("mount --make-rprivate /; ip link set lo up");
    const folder = mkdtempSync(join(tmpdir(), "tollgate-machine-"));
    chmodSync(folder, 0o755);
    sh('mount -t tmpfs machine "$1"', folder);
    for (const name of ["etc", "var", "opt", "usr/local"]) {
      sh(
        'mkdir -p "$1/up/$2" "$1/work/$2"; mount -t overlay overlay -o "lowerdir=/$2,upperdir=$1/up/$2,workdir=$1/work/$2" "/$2"',
        ...[folder, name],
      );
    }
    sh(
      "mount -t tmpfs run /run; mkdir -p /run/postgresql /var/log/nginx /var/lib/redis /var/www/html",
    );
    sh("mkdir -p /var/lib/redis /etc/redis /etc/systemd/system /var/backups");
    sh(
      "for user in redis postgres www-data; do id $user > /dev/null || useradd --system $user; done",
    );
    sh("chown redis: /var/lib/redis; chown postgres: /run/postgresql; touch /etc/redis/redis.conf");
    sh("rm -rf /etc/tollgate /etc/letsencrypt /var/lib/tollgate /var/backups/tollgate");
    for (const release of RELEASES) {
      sh('mkdir -p "$2"; mount --rbind "$1" "$2"', packageRoot, release);
    }
    writeFileSync("/etc/hosts", `127.0.0.1 localhost ${DOMAIN}\n::1 localhost\n`);
    const bin = join(folder, "bin");
    mkdirSync(bin);
    const own = join(packageRoot, "test", "deploy", "machine");
    copyFileSync(join(own, "systemctl.sh"), join(bin, "systemctl"));
    chmodSync(join(bin, "systemctl"), 0o755);
    copyFileSync(join(own, "filter.pl"), join(bin, "filter.pl"));
    // Before that of the packages of tests, which `npm test` adds with another Node.
    const folders = [bin, postgres.bin, dirname(process.execPath), "/usr/sbin", "/sbin"];
    const path = [...folders, process.env["PATH"] ?? ""].join(delimiter);
    const machine = new Machine(folder, path);
    machine.makeAuthority(join(bin, "certbot"));
    await machine.startNginx();
    await machine.startPostgres();
    return machine;
  }

  /** A file of this machine alone. */
  file(name: string): string {
    return join(this.folder, name);
  }

  /** Runs commands as root, as an operator would; rejects with their output if one fails. */
  run(
    script: string,
    env: Readonly<Record<string, string>> = {},
    cwd = RELEASES[0],
  ): Promise<Result> {
    return new Promise((resolve, reject) => {
      const options = { cwd, env: { ...this.environment(), ...env }, maxBuffer: 2 ** 26 };
      execFile("bash", ["-ec", script], options, (error, stdout, stderr) => {
        const { code } = error ?? { code: 0 };
        // The end of long output says why; reports of a run cut it.
        const said = `${stdout}${stderr}`.slice(-OUTPUT_SHOWN);
        if (error) reject(new Error(`${code}: ${script}\n${this.logs()}\n${said}`));
        else resolve({ code: 0, stdout, stderr });
      });
    });
  }

  logs(): string {
    const shell =
      "tail -n 4 /var/log/unit-*.log /var/log/nginx/*.log 2>/dev/null | cut -c1-300 || true";
    return execFileSync("sh", ["-c", shell], { encoding: "utf8" });
  }

  private environment(): Record<string, string> {
    return {
      PATH: this.path,
      HOME: this.file("home"),
      LANG: "C.UTF-8",
      CURL_CA_BUNDLE: this.file("authority.pem"),
      NODE_FLAGS: shortLivedFlags().join(" "),
    };
  }

  /**
   * An authority of certificates, and the program that gets one from it, instead of Let's Encrypt's. It gives one to a
   * machine that shows a file at the domain, and renews it in the same way.
   */
  private makeAuthority(certbot: string): void {
    const [key, certificate] = [this.file("authority.key"), this.file("authority.pem")];
    const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
    const self = ["req", "-x509", ...curve, "-subj", "/CN=authority", "-keyout", key];
    execFileSync("openssl", [...self, "-out", certificate], { stdio: "ignore" });
    writeFileSync(
      certbot,
      `#!/bin/bash
set -eu
if [ "$1" = renew ]; then mapfile -t words < /etc/letsencrypt/renewal; exec "$0" "\${words[@]}"; fi
words=("$@") webroot='' hook=true
while [ $# -gt 0 ]; do
  case $1 in
    --standalone) ! (: > /dev/tcp/127.0.0.1/80) 2> /dev/null || { echo 'Could not bind TCP port 80' >&2; exit 1; } ;;
    -w) webroot=$2 ;;
    --deploy-hook) hook=$2 ;;
    --domain) domain=$2 ;;
  esac
  shift
done
if [ "$webroot" ]; then
  challenge=.well-known/acme-challenge/$RANDOM
  mkdir -p "$webroot/.well-known/acme-challenge"
  touch "$webroot/$challenge"
  curl --fail --silent --show-error "http://$domain/$challenge"
fi
folder=/etc/letsencrypt/live/$domain
mkdir -p "$folder"
printf '%s\\n' "\${words[@]}" > /etc/letsencrypt/renewal
openssl req -x509 -CA ${certificate} -CAkey ${key} ${curve.join(" ")} -subj "/CN=$domain" \\
  -addext "subjectAltName=DNS:$domain" -addext basicConstraints=CA:FALSE -keyout "$folder/privkey.pem" -out "$folder/fullchain.pem" 2>/dev/null
sh -c "$hook"
`,
      { mode: 0o755 },
    );
  }

  /** As Debian's package does: a server of files in /var/www/html. */
  private async startNginx(): Promise<void> {
    mkdirSync("/etc/nginx", { recursive: true });
    const server = "server { listen 80; listen [::]:80; root /var/www/html; }";
    const text = `user www-data;\npid /run/nginx.pid;\nevents {}\nhttp { ${server} }\n`;
    writeFileSync("/etc/nginx/nginx.conf", text);
    await this.run("systemctl start nginx");
    await until("nginx replies", () =>
      fetch("http://127.0.0.1").then(
        () => true,
        () => false,
      ),
    );
  }

  /** As Debian's package does: a server whose superuser is the user postgres of the machine. */
  private async startPostgres(): Promise<void> {
    const data = "/var/lib/postgresql/tollgate-test";
    const login =
      "--auth-local=peer --auth-host=scram-sha-256 --encoding=UTF8 --locale=C --no-sync";
    await this.run(
      `install -d -o postgres /var/lib/postgresql ${data}
      cd /; runuser -u postgres -- initdb ${login} -D ${data}`,
    );
    const words = ["-u", "postgres", "--", "postgres", "-D", data, "-k", "/run/postgresql"];
    const server = spawn("runuser", words, { stdio: "ignore", cwd: "/", env: this.environment() });
    server.unref();
    await until("Postgres replies", () =>
      this.run("cd /; runuser -u postgres -- psql --command='select 1'").then(
        () => true,
        () => false,
      ),
    );
  }
}

/** Returns the text of a block in a page of the handbook, such as "```sh start". */
export function block(page: string, name: string, language = "sh"): string {
  const text = readFileSync(join(packageRoot, "config", "operating", page), "utf8");
  const head = `${language} ${name}`.trim();
  const found = new RegExp(`^\`\`\`${head}\\n([^]*?)^\`\`\``, "m").exec(text)?.[1];
  if (found === undefined) throw new Error(`${page} has no block ${head}`);
  return found;
}
