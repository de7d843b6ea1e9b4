#!/bin/bash
# Stands in for systemd, which needs to be the first process of a machine: runs a unit's own command line, as its user, with
# its files of variables, in its folder, without the system calls that it denies, and again a second after it ended. Adds
# NODE_FLAGS, which the test sets, to the flags of Node. Units of Debian's packages get the command that their packages have.

set -eu
command=$1
shift
units=()
for word in "$@"; do [[ $word == -* ]] || units+=("$word"); done

pid_file() { echo "/run/unit-${1//\//-}.pid"; } # of the loop that starts it again
main_file() { echo "/run/unit-${1//\//-}.main"; }

is_running() {
  [ -e "$(pid_file "$1")" ] && local pid && pid=$(cat "$(pid_file "$1")") &&
    [ -e "/proc/$pid" ] && ! grep -q '^State:.*Z' "/proc/$pid/status"
}

run() { # run NAME COMMAND...
  local name=$1
  shift
  rm -f "$(main_file "$name")" "$(main_file "$name").stopped"
  setsid bash -c '
    main=$1; shift
    while [ ! -e "$main.stopped" ]; do
      "$@" & echo $! > "$main"
      wait $! || true
      [ -e "$main.stopped" ] || sleep 1
    done' bash "$(main_file "$name")" "$@" < /dev/null >> "/var/log/unit-$name.log" 2>&1 7>&- &
  echo $! > "$(pid_file "$name")"
}

start() {
  case $1 in
    tollgate@*)
      local text state
      text=$(sed "s/%i/${1#tollgate@}/g" /etc/systemd/system/tollgate@.service)
      get() { sed -n "s/^$1=//p" <<< "$text"; }
      state=/var/lib/$(get StateDirectory)
      install -d -m 755 /var/lib/tollgate
      install -d -m "$(get StateDirectoryMode)" -o "$(get User)" -g "$(get Group)" "$state"
      cd "$(get WorkingDirectory)"
      run "$1" env -i PATH=/usr/local/bin:/usr/bin:/bin bash -c '
        umask "$1"; set -a; . "$2"; set +a
        exec env $3 setpriv --reuid="$4" --regid="$5" --clear-groups --no-new-privs --bounding-set=-all \
          prlimit --core="$6" perl "$7" "$8" $9' bash \
        "$(get UMask)" "$(get EnvironmentFile)" "$(get Environment)" "$(get User)" "$(get Group)" \
        "$(get LimitCORE)" "$(dirname "$0")/filter.pl" /etc/systemd/system/tollgate@.service \
        "$(get ExecStart | sed "s# # $NODE_FLAGS #")"
      ;;
    redis-server) run "$1" runuser -u redis -- redis-server /etc/redis/redis.conf ;;
    nginx) run "$1" nginx -g 'daemon off;' ;;
    *) echo "no unit $1" >&2; exit 5 ;;
  esac
}

stop() {
  is_running "$1" || return 0
  while [ ! -s "$(main_file "$1")" ]; do sleep 0.1; done
  touch "$(main_file "$1").stopped"
  kill -TERM "$(cat "$(main_file "$1")")" 2> /dev/null || true
  while is_running "$1"; do sleep 0.1; done
}

for unit in "${units[@]}"; do
  case $command in
    start | enable) is_running "$unit" || start "$unit" ;;
    stop) stop "$unit" ;;
    restart) stop "$unit"; start "$unit" ;;
    reload) kill -HUP "$(cat "$(main_file "$unit")")" ;;
  esac
done
