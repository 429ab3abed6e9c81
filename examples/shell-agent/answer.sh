#!/bin/sh
# An agent of one shell script: answers questions about the folder that it runs in.
#
#   export BRIDGE_PROFILE=ben
#   agent-bridge listen --exec 'sh answer.sh'
#
# `listen` runs this once for each message, the message as JSON on standard input. Exit 0 acknowledges the message; any other
# exit leaves it, and it comes again a minute later, so a node or a disk that was away costs nothing.
#
# A body is somebody else's text: it is compared and quoted, never run. Needs `bridge` and `node` in the PATH.
set -eu

message=$(cat)
field() {
  printf '%s' "$message" | node -p 'JSON.parse(fs.readFileSync(0, "utf8"))[process.argv[1]]' "$1"
}

id=$(field id)
[ "$(field type)" = question ] || exit 0

case $(field body) in
  'How many files?') text="$(find . -type f | wc -l | tr -d ' ') files" ;;
  'How much space is left?') text=$(df -Pk . | awk 'NR == 2 { print $4 " KiB" }') ;;
  *) text='I know two questions: "How many files?" and "How much space is left?"' ;;
esac

# With the question's id as the key, a try after an exit in between answers no second time: the node knows the key, and
# refuses another text under it.
said=$(agent-bridge reply "$id" "$text" --key "$id" --json 2>&1) || case $said in
  *'"idempotency_conflict"'*) ;;
  *)
    printf '%s\n' "$said" >&2
    exit 1
    ;;
esac
