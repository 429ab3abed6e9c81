#!/bin/bash
# rootfs.sh FILE PACKAGE…: writes the files of installed Debian packages, and of all that they depend on, into a tar file.
set -euo pipefail
out=$1
shift
essential=$(dpkg-query -W -f '${Essential} ${Package}\n' | sed -n 's/^yes //p')
without=(--no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances)
# shellcheck disable=SC2086
needed=$(apt-cache depends --recurse --installed "${without[@]}" "$@" $essential | grep '^[a-z0-9]' | sort -u)
{
  # Virtual packages have no files. /bin, /sbin and /lib are links into /usr.
  # shellcheck disable=SC2086
  { dpkg-query -L $needed 2>/dev/null || true; } |
    grep -vE '^/usr/share/(doc|man|locale|info)/' |
    sed -E 's#^/(s?bin|lib|lib64)/#/usr/\1/#' |
    while read -r file; do if [ -L "$file" ] || [ -f "$file" ]; then echo "${file#/}"; fi; done
  for link in bin sbin lib lib64; do if [ -L /$link ]; then echo $link; fi; done
  echo etc/ld.so.cache
  find /etc/ssl/certs ! -type d | sed 's#^/##'
} | sort -u | tar -C / --no-recursion -T - -cf "$out"
