"""Requests, answers and signatures of the wire, written from docs/protocol.md alone.

Needs Debian's python3-cryptography for Ed25519. Everything else is the standard library.
"""
import base64
import hashlib
import http.client
import json
import time
from datetime import datetime, timezone
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

NO_BYTES = hashlib.sha256(b"").hexdigest()


class Refused(Exception):
    """An error body of the node: status, code, details and the requested delay."""

    def __init__(self, status, body):
        super().__init__(f"{status} {body.get('error')}: {body.get('message')}")
        self.status = status
        self.code = body.get("error")
        self.details = body.get("details", {})
        self.retry_after = body.get("retry_after_ms", 0) / 1000


class Unreachable(Exception):
    """No answer, or one that does not come from a node. The outcome is unknown."""


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def public_key_of(key: Ed25519PrivateKey):
    return base64url(key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))


def signed(key: Ed25519PrivateKey, lines):
    """Signs the lines, joined by LF without a final one. Section 3.2."""
    return base64url(key.sign("\n".join(lines).encode("ascii")))


def enrolment_lines(code, public_key, device):
    """Section 4.1."""
    return ["bridge-enroll-v1", sha256(code.encode("ascii")), public_key, device or "-"]


def request_lines(server_id, credential_id, method, target, body_hash, clock, nonce, session, key, device):
    """Section 3.2; a device-bound identity signs the second version."""
    version = "bridge-request-v2" if device else "bridge-request-v1"
    lines = [version, server_id, credential_id, method, target, body_hash, clock, nonce, session or "-", key or "-"]
    return lines + [device] if device else lines


class Node:
    """The node at a base address. Each request uses a new connection, which keeps retries simple."""

    def __init__(self, base_url):
        url = urlsplit(base_url)
        if url.scheme == "http" and url.hostname not in ("127.0.0.1", "localhost", "::1"):
            raise ValueError("plain http stays on loopback")
        self.secure = url.scheme == "https"
        self.host, self.port, self.prefix = url.hostname, url.port, url.path.rstrip("/")

    def connect(self, timeout):
        kind = http.client.HTTPSConnection if self.secure else http.client.HTTPConnection
        return kind(self.host, self.port, timeout=timeout)

    def open(self, method, target, headers, body=None, timeout=30):
        """Returns the unread answer and its connection. A redirect does not count as an answer of a node."""
        connection = self.connect(timeout)
        try:
            connection.request(method, self.prefix + target, body=body, headers=headers)
            answer = connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise Unreachable(str(error)) from error
        if 300 <= answer.status < 400:
            connection.close()
            raise Unreachable("a redirect, which is never followed")
        return connection, answer

    def request(self, method, target, headers, body=None, timeout=30):
        """Returns headers and bytes of a success. Raises Refused or Unreachable."""
        connection, answer = self.open(method, target, headers, body, timeout)
        try:
            data = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(str(error)) from error
        finally:
            connection.close()
        if answer.status != 200:
            raise refusal(answer.status, data)
        return answer.headers, data


def refusal(status, data):
    """Returns the error; not every refusal has an error body. Section 2.1."""
    try:
        return Refused(status, json.loads(data))
    except ValueError:
        return Unreachable(f"status {status} without an error body")


def seconds_of(timestamp):
    """Unix seconds of an ISO 8601 timestamp in UTC. Section 2.4."""
    whole, fraction = timestamp.rstrip("Z").split(".")
    return time.mktime(time.strptime(whole + " UTC", "%Y-%m-%dT%H:%M:%S %Z")) - time.timezone + float("0." + fraction)


def timestamp(seconds):
    """The reverse of `seconds_of`."""
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
