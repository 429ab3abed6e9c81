"""The three transports of section 10, each with its reconnection, and the journal before every acknowledgement.

Needs Debian's python3-websockets for the socket.
"""
import asyncio
import http.client
import json
import os
import random
import socket as sockets
import threading
import time

import websockets

from wire import Refused, Unreachable, refusal

EVENTS = "/api/v1/events"
#: Codes after which only a person can help. Section 7.3.
FINAL = ("credential_revoked", "credential_unknown", "credential_expired", "agent_disabled", "project_archived",
         "session_fenced", "signature_invalid", "signature_required", "unauthenticated", "device_mismatch")


class Journal:
    """Records each message durably, once by its id, before it is acknowledged."""

    def __init__(self, path):
        self.file = open(path, "a+", encoding="utf-8")
        self.file.seek(0)
        self.ids = {json.loads(line)["id"] for line in self.file}

    def record(self, messages):
        """Returns the messages that were not recorded yet."""
        fresh = [each for each in messages if each["id"] not in self.ids]
        for message in fresh:
            self.file.write(json.dumps(message) + "\n")
            self.ids.add(message["id"])
        self.file.flush()
        os.fsync(self.file.fileno())
        return fresh


class Listener(threading.Thread):
    """Listens over one transport until it is stopped. `heard` is called with ('open'|'message'|'ended', value)."""

    def __init__(self, agent, journal, transport, heard):
        super().__init__(daemon=True)
        self.agent, self.journal, self.heard = agent, journal, heard
        self.connect = {"long-poll": self.poll, "sse": self.stream, "socket": self.socket}[transport]
        self.stopped = False
        self.connection = None

    def run(self):
        pause = 0.5
        while not self.stopped:
            began = time.monotonic()
            try:
                self.connect()
                pause = 0.5
            except (Refused, Unreachable) as failure:
                self.heard("ended", str(failure))
                if getattr(failure, "code", None) in FINAL:
                    return
                if time.monotonic() - began > 5:
                    pause = 0.5
                delay = max(pause * (0.5 + random.random() / 2), getattr(failure, "retry_after", 0))
                time.sleep(delay)
                pause = min(15, pause * 2)

    def stop(self):
        self.stopped = True
        if self.connection is not None and self.connection.sock is not None:
            self.connection.sock.shutdown(sockets.SHUT_RDWR)
        self.join()

    def take(self, messages):
        """Stores messages durably, then acknowledges them; acknowledges a redelivered message again."""
        if not messages:
            return
        fresh = self.journal.record(messages)
        self.agent.acknowledge([each["id"] for each in messages])
        for message in fresh:
            self.heard("message", message)

    def poll(self):
        """Section 10.4."""
        self.heard("open", "long-poll")
        page = self.agent.get("/api/v1/inbox?wait_seconds=1&limit=50", timeout=11)
        self.take(page["messages"])

    def stream(self):
        """Section 10.5: one connection, which the node ends after 20 seconds."""
        self.connection, answer = self.agent.node.open("GET", EVENTS, self.agent.headers("GET", EVENTS), timeout=25)
        try:
            if answer.status != 200:
                raise refusal(answer.status, answer.read())
            self.heard("open", answer.headers["Content-Type"])
            event = None
            while line := answer.readline().decode():
                if line.startswith("event: "):
                    event = line[len("event: "):].rstrip("\n")
                elif line.startswith("data: "):
                    self.handle(event, json.loads(line[len("data: "):]))
            self.heard("ended", "the stream is over")
            time.sleep(0.25)
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(str(error)) from error
        finally:
            self.connection.close()
            self.connection = None

    def handle(self, event, data):
        if event == "messages":
            self.take(data["messages"])
        elif event == "receipts":
            self.heard("receipts", data["receipts"])
        elif event == "session":
            raise Refused(0, {"error": data["code"], "message": "the stream was ended"})

    def socket(self):
        """Section 10.6."""
        asyncio.run(self.over_socket())

    async def over_socket(self):
        node = self.agent.node
        url = f"{'wss' if node.secure else 'ws'}://{node.host}:{node.port}{node.prefix}/api/v1/socket"
        try:
            async with websockets.connect(url, compression=None, max_size=None) as socket:
                headers = {name.lower(): value for name, value in self.agent.headers("GET", EVENTS).items()}
                await socket.send(json.dumps({"type": "authenticate", "headers": headers}))
                while not self.stopped:
                    try:
                        frame = json.loads(await asyncio.wait_for(socket.recv(), timeout=1))
                    except asyncio.TimeoutError:
                        continue
                    await self.on_frame(socket, frame)
        except websockets.ConnectionClosed as closed:
            raise Unreachable(f"closed with {closed.rcvd.code if closed.rcvd else 1006}") from closed
        except (OSError, websockets.InvalidHandshake) as error:
            raise Unreachable(str(error)) from error

    async def on_frame(self, socket, frame):
        kind = frame.pop("type")
        if kind == "ready":
            self.heard("open", frame["session_id"])
            await socket.send('{"type":"ping"}')
        elif kind == "pong":
            self.heard("pong", frame["server_time"])
        elif kind == "error":
            raise Refused(0, frame["error"])
        else:
            await asyncio.to_thread(self.handle, kind, frame)
