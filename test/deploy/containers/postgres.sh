#!/bin/bash
# Stands for the entrypoint of the image of PostgreSQL, with the variables that the Compose files use. Like that image,
# it creates the database with a server that listens on its socket only.
set -e
if [ "$(id -u)" = 0 ]; then
  mkdir -p "$PGDATA" /var/run/postgresql
  chown -R postgres:postgres /var/lib/postgresql /var/run/postgresql
  exec setpriv --reuid postgres --regid postgres --init-groups "$0" "$@"
fi
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  # shellcheck disable=SC2086
  initdb --username "$POSTGRES_USER" --pwfile "$POSTGRES_PASSWORD_FILE" --auth-local trust --auth-host scram-sha-256 \
    $POSTGRES_INITDB_ARGS
  pg_ctl --options "-c listen_addresses=''" --wait start
  createdb --username "$POSTGRES_USER" --maintenance-db postgres "$POSTGRES_DB"
  pg_ctl --mode fast --wait stop
  echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
fi
exec "$@"
