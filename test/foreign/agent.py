"""An agent: its identity, its session, and signed calls with the retries that docs/protocol.md allows."""
import json
import os
import random
import time
import uuid

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from wire import (NO_BYTES, Node, Refused, Unreachable, base64url, enrolment_lines, public_key_of, request_lines,
                  seconds_of, sha256, signed)

CLIENT = {"name": "foreign", "version": "1.0"}
WITHOUT_SESSION = ("/api/v1/bootstrap", "/api/v1/sessions", "/api/v1/sessions/challenge")


def enrol(base_url, code, device=None):
    """Claims a code. Repeating code, key and device gets the same credential, so a lost answer is requested again."""
    key = Ed25519PrivateKey.generate()
    public_key = public_key_of(key)
    body = {
        "code": code,
        "public_key": public_key,
        "proof": signed(key, enrolment_lines(code, public_key, device)),
        "client": CLIENT,
    }
    headers = {"Content-Type": "application/json"}
    if device:
        body["device"] = headers["X-Bridge-Device"] = device
    _, data = Node(base_url).request("POST", "/api/v1/enrollments/claim", headers, json.dumps(body).encode())
    return Agent(base_url, key, json.loads(data), device)


class Agent:
    def __init__(self, base_url, key, enrolled, device=None, instance_id=None):
        self.node = Node(base_url)
        self.key, self.enrolled, self.device = key, enrolled, device
        self.id = enrolled["agent"]["id"]
        # Created once and stored, so that a restarted client resumes its session.
        self.instance_id = instance_id or str(uuid.uuid4())
        self.session = None
        self.offset = 0.0
        self.corrections = 0

    def headers(self, method, target, body_hash=NO_BYTES, key=None, nonce=None):
        """Returns the headers of a request signed at this time. Section 3.1."""
        clock = str(int(time.time() + self.offset))
        nonce = nonce or base64url(os.urandom(16))
        session = None if target in WITHOUT_SESSION or self.session is None else self.session["id"]
        lines = request_lines(self.enrolled["server_id"], self.enrolled["credential_id"], method, target, body_hash,
                              clock, nonce, session, key, self.device)
        headers = {
            "Authorization": f"AgentKey {self.enrolled['credential_id']}",
            "X-Bridge-Time": clock,
            "X-Bridge-Nonce": nonce,
            "X-Bridge-Proof": signed(self.key, lines),
        }
        named = (("X-Bridge-Session", session), ("X-Bridge-Device", self.device), ("Idempotency-Key", key))
        return headers | {name: value for name, value in named if value is not None}

    def send(self, method, target, body=None, key=None, body_hash=None, timeout=30, extra=None):
        """Returns headers and bytes of the answer. Corrects a wrong clock once. Section 3.4."""
        data = b"" if body is None else body
        corrected = False
        while True:
            headers = self.headers(method, target, body_hash or sha256(data), key) | (extra or {})
            if body is not None and "Content-Type" not in headers:
                headers["Content-Type"] = "application/json"
            try:
                return self.node.request(method, target, headers, body, timeout)
            except Refused as refused:
                if refused.code != "clock_skew" or corrected:
                    raise
                self.offset = seconds_of(refused.details["server_time"]) - time.time()
                self.corrections += 1
                corrected = True

    def repeat(self, *call, attempts=6, **named):
        """Retries a repeatable request with the same key and bytes, and a new signature each time. Section 6."""
        for attempt in range(attempts):
            try:
                return self.send(*call, **named)
            except (Unreachable, Refused) as failure:
                again = isinstance(failure, Unreachable) or failure.status in (500, 503)
                again = again or failure.code in ("rate_limited", "transfer_busy")
                if not again or attempt == attempts - 1:
                    raise
                delay = 0.2 * 2**attempt * (0.5 + random.random() / 2)
                time.sleep(max(delay, getattr(failure, "retry_after", 0)))

    def get(self, target, timeout=30):
        return json.loads(self.repeat("GET", target, timeout=timeout)[1])

    def post(self, target, body):
        """Sends a request that is idempotent without a key. Section 6."""
        return json.loads(self.repeat("POST", target, json.dumps(body).encode())[1])

    def keyed(self, target, body, key=None):
        """Sends a request with an Idempotency-Key, which is generated before the first attempt."""
        return json.loads(self.keyed_bytes(target, json.dumps(body).encode(), key or str(uuid.uuid4()))[1])

    def keyed_bytes(self, target, data, key):
        return self.repeat("POST", target, data, key=key)

    def start(self, grant=None):
        """Starts a session, or resumes the one of this instance. Sections 5.1 to 5.3."""
        body = {"instance_id": self.instance_id, "client": CLIENT}
        if grant:
            body["takeover_grant"] = grant
        if self.device:
            body["challenge"] = self.post("/api/v1/sessions/challenge", {})["challenge"]
        self.session = self.post("/api/v1/sessions", body)
        return self.session

    def conversation_with(self, agent_id):
        return self.keyed("/api/v1/conversations", {"recipient_agent_id": agent_id})["id"]

    def say(self, conversation_id, recipient_id, text, kind="note", **more):
        body = {"conversation_id": conversation_id, "recipient_agent_id": recipient_id, "type": kind, "body": text, **more}
        return self.keyed("/api/v1/messages", body)["message"]

    def acknowledge(self, ids):
        return self.post("/api/v1/acknowledgements", {"message_ids": ids})
