#!/bin/sh
# Runs a program of this package in a whole other system: enter.sh FOLDER NODE NPM PROGRAM PART

set -eu
folder=$1 node=$2 npm=$3 program=$4 part=$5
package=$(pwd)
mount --make-rprivate /
# The root of a process must be a mount, so that it can mount over its folders.
mount --bind "$folder" "$folder"
cp "$node" "$folder/usr/bin/node"
# First: the package may be in /tmp.
mount -t tmpfs tmp "$folder/tmp"
mkdir -p "$folder/usr/lib/node_modules" "$folder$package"
cp -R "$npm/npm" "$folder/usr/lib/node_modules/npm"
ln -sf ../lib/node_modules/npm/bin/npm-cli.js "$folder/usr/bin/npm"
mount --rbind "$package" "$folder$package"
mount -t proc proc "$folder/proc"
mount --rbind /dev "$folder/dev"
chroot "$folder" sh -c 'cd "$1"; node "$2" "$3" & wait "$!"' sh "$package" "$program" "$part"
