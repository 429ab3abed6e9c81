"""Direct transfers: sections 13.4 and 14 of docs/protocol.md, for both sides and both ways to run the helper."""
import json
import os
import time

from files import checked
from wire import Node, Refused, base64url, sha256, timestamp


def write_manifest(transfer, mode, path):
    """Writes a manifest with exactly the fields of section 14.1. Returns the digest of the file."""
    described = {name: transfer[name] for name in ("filename", "size", "sha256", "parts")}
    data = json.dumps({"version": "1", "transfer_id": transfer["id"], "mode": mode, **described}).encode()
    with open(path, "wb") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(data)
    return sha256(data)


class Helper:
    """The helper's routes, for the holder of its token."""

    def __init__(self, endpoint, token):
        self.node = Node(endpoint)
        self.token = token

    def request(self, method, path, body=None):
        return self.node.request(method, path, {"Authorization": f"Bearer {self.token}"}, body)

    def status(self):
        return json.loads(self.request("GET", "/v1/status")[1])

    def part(self, part):
        return checked(part, *self.request("GET", f"/v1/parts/{part['index']}"))

    def put(self, index, piece):
        return json.loads(self.request("PUT", f"/v1/parts/{index}", piece)[1])

    def finalize(self):
        return json.loads(self.request("POST", "/v1/finalize")[1])


def serve(agent, transfer, mode, manifest, root, start):
    """Starts a helper with a new token and deposits its endpoint. `start` returns the readiness line."""
    token = base64url(os.urandom(32))
    ready = start(["--manifest", manifest, "--root", root, "--ttl", "600"], token)
    endpoint = f"http://{ready['host']}:{ready['port']}"
    # The node checks the expiry by its own clock.
    expires_at = timestamp(time.time() + agent.offset + 580)
    agent.post(f"/api/v1/transfers/{transfer['id']}/secret",
               {"endpoint": endpoint, "token": token, "expires_at": expires_at, "helper_mode": mode})
    return Helper(endpoint, token)


def endpoint_of(agent, transfer):
    """Polls for the endpoint while the answer is 404: no message announces it. Ignores a helper of another file."""
    while True:
        try:
            secret = agent.get(f"/api/v1/transfers/{transfer['id']}/secret")
            break
        except Refused as refused:
            if refused.code != "not_found":
                raise
            time.sleep(0.2)
    helper = Helper(secret["endpoint"], secret["token"])
    status = helper.status()
    told = [status["transfer_id"], status["size"], status["sha256"]]
    if told != [transfer["id"], transfer["size"], transfer["sha256"]]:
        raise ValueError("the helper serves another file")
    return helper


def fetch(helper, transfer, verified, only=None):
    """Fetches the parts missing in `verified` and adds them. Returns their indices."""
    wanted = [part for part in transfer["parts"] if part["index"] not in verified]
    for part in wanted if only is None else wanted[:only]:
        verified[part["index"]] = helper.part(part)
    return sorted(verified)


def whole(transfer, verified):
    data = b"".join(verified[part["index"]] for part in transfer["parts"])
    if len(data) != transfer["size"] or sha256(data) != transfer["sha256"]:
        raise ValueError("the file is not the one that was offered")
    return data


def upload_to(helper, transfer, data):
    """Sends the parts that the helper lacks, then finalizes, which verifies the whole file."""
    committed = helper.status()["committed_parts"]
    missing = [part for part in transfer["parts"] if part["index"] not in committed]
    for part in missing:
        helper.put(part["index"], data[part["offset"]:part["offset"] + part["size"]])
    return [part["index"] for part in missing], helper.finalize()["verified"]


def confirm(agent, transfer):
    """Sends receipt and cleanup to the node, as for a package."""
    under = f"/api/v1/transfers/{transfer['id']}"
    done = agent.post(f"{under}/receipt", {"size": transfer["size"], "sha256": transfer["sha256"]})
    agent.post(f"{under}/cleanup", {})
    return done["state"]
