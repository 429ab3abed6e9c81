"""Files: offers and packages, sections 13.1 to 13.3 of docs/protocol.md."""
import json
import time

from wire import Refused, sha256


def parts_of(data, part_bytes):
    """Contiguous parts from index 0. An empty file has one part of 0 bytes."""
    pieces = [data[offset:offset + part_bytes] for offset in range(0, len(data), part_bytes)] or [b""]
    offset, parts = 0, []
    for index, piece in enumerate(pieces):
        parts.append({"index": index, "offset": offset, "size": len(piece), "sha256": sha256(piece)})
        offset += len(piece)
    return parts


def offer(agent, conversation_id, recipient_id, filename, data, part_bytes, mode="package"):
    return agent.keyed("/api/v1/transfers", {
        "conversation_id": conversation_id,
        "recipient_agent_id": recipient_id,
        "filename": filename,
        "size": len(data),
        "sha256": sha256(data),
        "parts": parts_of(data, part_bytes),
        "mode": mode,
        "encryption": "none",
    })


def upload(agent, transfer, data, only=None):
    """Sends the parts that the node lacks, which also resumes an interrupted upload. Returns their indices."""
    under = f"/api/v1/transfers/{transfer['id']}/package"
    committed = agent.get(f"{under}/status")["committed_parts"]
    sent = []
    for part in transfer["parts"]:
        if part["index"] in committed or (only is not None and part["index"] not in only):
            continue
        piece = data[part["offset"]:part["offset"] + part["size"]]
        headers = {
            "Content-Type": "application/octet-stream",
            "Content-Length": str(len(piece)),
            "X-Content-SHA256": part["sha256"],
        }
        # The proof covers the hash in the offer instead of the body.
        agent.repeat("PUT", f"{under}/parts/{part['index']}", piece, body_hash=part["sha256"], extra=headers)
        sent.append(part["index"])
    return sent


def finalize(agent, transfer):
    """The one POST without a body."""
    return json.loads(agent.repeat("POST", f"/api/v1/transfers/{transfer['id']}/package/finalize")[1])


def checked(part, headers, piece):
    """Returns the bytes of a part if they match the offer."""
    if len(piece) != part["size"] or sha256(piece) != part["sha256"] or headers["X-Content-SHA256"] != part["sha256"]:
        raise ValueError(f"part {part['index']} is not the one that was offered")
    return piece


def download(agent, transfer):
    """Fetches the file in parts. Checks length and hash of each part, then of the whole file."""
    whole = b""
    for part in transfer["parts"]:
        target = f"/api/v1/transfers/{transfer['id']}/package/parts/{part['index']}"
        whole += checked(part, *agent.repeat("GET", target))
    if len(whole) != transfer["size"] or sha256(whole) != transfer["sha256"]:
        raise ValueError("the file is not the one that was offered")
    return whole


def receive(agent, transfer_id, path):
    """Accepts, waits for the upload, fetches, makes the file durable, then confirms it."""
    under = f"/api/v1/transfers/{transfer_id}"
    agent.post(f"{under}/accept", {})
    while (transfer := agent.get(under))["package"]["stored_at"] is None:
        time.sleep(0.1)
    data = download(agent, transfer)
    with open(path, "wb") as file:
        file.write(data)
    done = agent.post(f"{under}/receipt", {"size": len(data), "sha256": sha256(data)})
    agent.post(f"{under}/cleanup", {})
    return done


def refused_receipt(agent, transfer_id):
    """Returns the error code for a receipt over other bytes."""
    try:
        agent.post(f"/api/v1/transfers/{transfer_id}/receipt", {"size": 1, "sha256": sha256(b"x")})
    except Refused as refused:
        return refused.code
    return None
