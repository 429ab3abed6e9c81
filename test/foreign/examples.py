"""Reads docs/protocol.md, computes both of its worked examples and prints every difference."""
import base64
import json
import re
import sys

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from wire import enrolment_lines, public_key_of, request_lines, sha256, signed

with open(sys.argv[1], encoding="utf-8") as file:
    page = file.read()

seed = re.search(r"32-byte seed in base64url is\s+`([A-Za-z0-9_-]{43})`", page).group(1)
key = Ed25519PrivateKey.from_private_bytes(base64.urlsafe_b64decode(seed + "="))
texts = [re.sub(r"(?m)^ ?\d+  ", "", text) for text in re.findall(r"```text\n(.+?)\n```", page, re.S)]


def compare(what, made, told):
    if made != told:
        print(f"{what}: the page says {told!r}, the client made {made!r}")


head, body = re.search(r"```http\n(.+?)\n```", page, re.S).group(1).split("\n\n")
method, target, _ = head.split("\n")[0].split(" ")
headers = dict(line.split(": ", 1) for line in head.split("\n")[1:])
lines = request_lines(
    re.search(r"with `server_id` `([0-9a-f-]{36})`", page).group(1),
    headers["Authorization"].removeprefix("AgentKey "),
    *(method, target, sha256(body.encode()), headers["X-Bridge-Time"], headers["X-Bridge-Nonce"]),
    *(headers["X-Bridge-Session"], headers["Idempotency-Key"], None),
)
compare("request text", "\n".join(lines), texts[0])
compare("request proof", signed(key, lines), headers["X-Bridge-Proof"])
compare("request length", str(len(body.encode())), headers["Content-Length"])

claim = json.loads(re.search(r"```json\n(\{\n  \"code\".+?)\n```", page, re.S).group(1))
lines = enrolment_lines(claim["code"], public_key_of(key), None)
compare("claim text", "\n".join(lines), texts[1])
compare("claim key", public_key_of(key), claim["public_key"])
compare("claim proof", signed(key, lines), claim["proof"])
