#!/bin/sh
# Prints an .env for compose.yaml: the variables of production.env.example, with new secrets.
#
#   (umask 077 && sh compose-env.sh > .env)

set -eu
secret() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }

sed -e '/^# Redis and Postgres\./,/^DATABASE_URL=/d' \
  -e '/^# Admin commands/d' -e '/^GATEWAY_URL=/d' \
  -e "s|^TOLLGATE_MASTER_KEY=.*|TOLLGATE_MASTER_KEY=$(head -c 32 /dev/urandom | base64)|" \
  -e "s|^GATEWAY_ADMIN_TOKEN=.*|GATEWAY_ADMIN_TOKEN=$(secret)|" \
  -e "s|^SEPAY_WEBHOOK_SECRET=.*|SEPAY_WEBHOOK_SECRET=$(secret)|" \
  "$(dirname "$0")/../production.env.example"
cat <<END

# Passwords of the stores in compose.yaml, which no port reaches. Postgres takes its password at its first start only.
POSTGRES_PASSWORD=$(secret)
REDIS_PASSWORD=$(secret)
END
