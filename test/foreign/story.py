"""Two agents of another language, from their enrolment to files with their receipts and a takeover.

Takes the node's address and a folder as arguments, and the token of a sign-in link on standard input. Each step is one line
of JSON on standard output. A line with `ask` waits for a line on standard input before it goes on.
"""
import json
import os
import queue
import select
import sys
import time

from agent import Agent, enrol
from direct import confirm, endpoint_of, fetch, serve, upload_to, whole, write_manifest
from files import finalize, offer, receive, refused_receipt, upload
from listening import Journal, Listener
from owner import Owner
from wire import Refused, Unreachable, sha256

base_url, folder = sys.argv[1:3]
DEVICE = json.dumps({"os": "linux", "machine": sha256(b"this machine"), "install": "0b9d7a54-3c1e-4f0b-8f6a-2d1f5f7c9e10"})


def tell(step, **more):
    print(json.dumps({"step": step, **more}), flush=True)


def ask(what, **more):
    print(json.dumps({"ask": what, **more}), flush=True)
    return json.loads(sys.stdin.readline())


def start_helper(args, token):
    return ask("start a helper", args=args, token=token)


def code_of(act):
    """Returns the code of the node's refusal."""
    try:
        act()
    except Refused as refused:
        return refused.code
    return None


def people():
    owner = Owner(base_url, sys.stdin.readline().strip())
    project = owner.project("foreign")
    ids = [owner.agent(project, name) for name in ("ann", "bob", "cam")]
    ann, bob = (enrol(base_url, owner.code(project, each)) for each in ids[:2])
    cam = enrol(base_url, owner.code(project, ids[2], "device"), DEVICE)
    tell("enrolled", ids=[ann.id, bob.id, cam.id] == ids, bindings=[each.enrolled["binding"] for each in (ann, bob, cam)],
         origin=owner.get("/api/admin/session")["user"]["role"])
    return ann, bob, cam, lambda agent: owner.takeover(project, agent.id)


def sessions(ann, bob, cam):
    boot = ann.get("/api/v1/bootstrap")
    started = [each.start() for each in (ann, bob, cam)]
    again = Agent(base_url, ann.key, ann.enrolled, instance_id=ann.instance_id)
    other = Agent(base_url, ann.key, ann.enrolled)
    tell("sessions", capabilities=boot["capabilities"], limits=list(boot["limits"]), same_server=boot["server_id"] == ann.enrolled["server_id"],
         generations=[each["generation"] for each in started], resumed=again.start()["id"] == ann.session["id"],
         other=code_of(other.start), peers=sorted(each["name"] for each in ann.get("/api/v1/peers")["peers"]))


def messages(ann, bob, conversation):
    body = {"conversation_id": conversation, "recipient_agent_id": bob.id, "type": "question", "body": "café ✓"}
    data = json.dumps(body).encode()
    first, once = ann.keyed_bytes("/api/v1/messages", data, "the-one-question")
    second, twice = ann.keyed_bytes("/api/v1/messages", data, "the-one-question")
    changed = json.dumps({**body, "body": "other"}).encode()
    sent = json.loads(once)["message"]
    tell("idempotent", same=once == twice, replayed=[first["Idempotency-Replayed"], second["Idempotency-Replayed"]],
         conflict=code_of(lambda: ann.keyed_bytes("/api/v1/messages", changed, "the-one-question")))
    bob.offset = 3600.0
    page = bob.get("/api/v1/inbox")
    bob.acknowledge([each["id"] for each in page["messages"]])
    answer = bob.say(conversation, ann.id, "the one in main", "answer", in_reply_to=sent["id"])
    state = ann.get(f"/api/v1/messages/{sent['id']}")["delivery"]
    tell("skew", corrections=bob.corrections, bodies=[each["body"] for each in page["messages"]],
         acknowledged=state["acknowledged_at"] is not None, root=answer["root_id"] == sent["id"], hops=answer["hops"])
    ann.acknowledge([each["id"] for each in ann.get("/api/v1/inbox")["messages"]])


def lost(ann, bob, conversation):
    """Drops the connection with the answer unread. A retry with key and bytes gets it, and one message is stored."""
    body = {"conversation_id": conversation, "recipient_agent_id": bob.id, "type": "note", "body": "told once"}
    data, key, target = json.dumps(body).encode(), "an-answer-that-is-lost", "/api/v1/messages"
    headers = ann.headers("POST", target, sha256(data), key) | {"Content-Type": "application/json"}
    connection = ann.node.connect(timeout=30)
    connection.request("POST", target, data, headers)
    select.select([connection.sock], [], [], 30)
    connection.close()
    again, answer = ann.keyed_bytes(target, data, key)
    history = bob.get(f"/api/v1/conversations/{conversation}/messages")["messages"]
    tell("lost", replayed=again["Idempotency-Replayed"],
         stored=[each["id"] for each in history if each["body"] == "told once"] == [json.loads(answer)["message"]["id"]])


def listen(ann, bob, conversation, transport, between):
    """Bob sends while Ann listens, and again after `between` has changed the connection."""
    heard = queue.Queue()

    def until(kind):
        while True:
            event, value = heard.get(timeout=30)
            if event == kind:
                return value

    journal = Journal(os.path.join(folder, f"{transport}.jsonl"))
    listener = Listener(ann, journal, transport, lambda *event: heard.put(event))
    listener.start()
    until("open")
    said = [bob.say(conversation, ann.id, f"one over {transport}")["id"]]
    got = [until("message")]
    if between:
        between()
        until("ended")
        until("open")
    said.append(bob.say(conversation, ann.id, f"two over {transport}")["id"])
    got.append(until("message"))
    listener.stop()
    waiting = ann.get("/api/v1/inbox")["waiting"]
    tell(transport, bodies=[each["body"] for each in got], same=said == [each["id"] for each in got],
         attempts=[each["delivery"]["attempt"] for each in got], waiting=waiting,
         journal=len(Journal(os.path.join(folder, f"{transport}.jsonl")).ids))


def tasks(ann, bob):
    made = ann.keyed("/api/v1/tasks", {"assignee_agent_id": bob.id, "title": "Count", "instructions": "the lines"})
    found = bob.get("/api/v1/tasks?role=assignee&state=open&wait_seconds=20")["tasks"]
    task = f"/api/v1/tasks/{made['id']}"
    claimed = bob.keyed(f"{task}/claim", {})
    holder = {"claim_generation": claimed["claim"]["generation"], "session_generation": bob.session["generation"]}
    renewed = bob.keyed(f"{task}/renew", holder)
    bob.keyed(f"{task}/progress", {**holder, "note": "half", "percent": 50})
    stale = code_of(lambda: bob.keyed(f"{task}/renew", {**holder, "claim_generation": 2}))
    held = code_of(lambda: bob.keyed(f"{task}/claim", {}))
    evidence = [{"kind": "command", "value": "wc -l", "exit_code": 0}]
    done = bob.keyed(f"{task}/complete", {**holder, "result": "42", "evidence": evidence})
    seen = ann.get(task)
    tell("task", found=[each["id"] for each in found] == [made["id"]], states=[made["state"], claimed["state"], done["state"]],
         extended=renewed["claim"]["expires_at"] >= claimed["claim"]["expires_at"], stale=stale, held=held,
         outcome=[seen["outcome"]["kind"], seen["outcome"]["result"], seen["outcome"]["evidence"]])


def cancellation(ann, bob):
    made = ann.keyed("/api/v1/tasks", {"assignee_agent_id": bob.id, "title": "Wait", "instructions": "for ever"})
    task = f"/api/v1/tasks/{made['id']}"
    claimed = bob.keyed(f"{task}/claim", {})
    holder = {"claim_generation": claimed["claim"]["generation"], "session_generation": bob.session["generation"]}
    asked = ann.keyed(f"{task}/cancel", {"reason": "not needed"})
    noticed = bob.keyed(f"{task}/renew", holder)
    stopped = bob.keyed(f"{task}/stopped", holder)
    tell("cancelled", states=[asked["state"], noticed["state"], stopped["state"]],
         confirmed=stopped["cancellation"]["stop_confirmed_at"] is not None)


def file(ann, bob, conversation):
    data = os.urandom(250_000)
    transfer = offer(ann, conversation, bob.id, "report.bin", data, 100_000)
    first = upload(ann, transfer, data, only=[1])
    resumed = upload(ann, transfer, data)
    verified = finalize(ann, transfer)
    notice = [each for each in bob.get("/api/v1/inbox?limit=100")["messages"] if each["transfer_id"] == transfer["id"]]
    early = refused_receipt(bob, transfer["id"])
    path = os.path.join(folder, "report.bin")
    received = receive(bob, transfer["id"], path)
    ended = ann.post(f"/api/v1/transfers/{transfer['id']}/cleanup", {})
    with open(path, "rb") as stored:
        same = stored.read() == data
    gone = code_of(lambda: bob.get(f"/api/v1/transfers/{transfer['id']}/package/status"))
    tell("file", uploads=[first, resumed], verified=verified["verified"], notices=[each["type"] for each in notice],
         early=early, state=received["state"], same=same, receipt=received["receipt"]["sha256"] == sha256(data), gone=gone,
         cleanup=[ended["cleanup"][side] is not None for side in ("sender_at", "recipient_at")])


def served(ann, bob, conversation):
    """The sender runs the helper, which ends in between. A new one continues with the missing parts."""
    data = os.urandom(250_000)
    root, manifest = os.path.join(folder, "served"), os.path.join(folder, "served.json")
    os.mkdir(root)
    with open(os.path.join(root, "plan.bin"), "wb") as source:
        source.write(data)
    transfer = offer(ann, conversation, bob.id, "plan.bin", data, 100_000, "direct")
    under = f"/api/v1/transfers/{transfer['id']}"
    digest = write_manifest(transfer, "download", manifest)
    early = code_of(lambda: bob.get(f"{under}/secret"))
    bob.post(f"{under}/accept", {})
    missing = code_of(lambda: bob.get(f"{under}/secret"))
    serve(ann, transfer, "download", manifest, root, start_helper)
    ready = bob.get(under)["offer"]["endpoint_ready"]
    own = code_of(lambda: ann.get(f"{under}/secret"))
    helper, verified = endpoint_of(bob, transfer), {}
    same_digest = helper.status()["manifest_digest"] == digest
    first = fetch(helper, transfer, verified, only=1)
    mode = code_of(lambda: helper.put(0, data[:100_000]))
    ask("end the helper")
    lost = False
    try:
        fetch(helper, transfer, verified)
    except Unreachable:
        lost = True
    serve(ann, transfer, "download", manifest, root, start_helper)
    fresh = endpoint_of(bob, transfer)
    second = fetch(fresh, transfer, verified)
    helper.node = fresh.node
    token = code_of(helper.status)
    same = whole(transfer, verified) == data
    state = confirm(bob, transfer)
    gone = code_of(lambda: bob.get(f"{under}/secret"))
    ask("end the helper")
    tell("served", early=early, missing=missing, ready=ready, own=own, digest=same_digest, fetched=[first, second], mode=mode,
         lost=lost, token=token, same=same, state=state, gone=gone)


def taken(ann, bob, conversation):
    """The recipient runs the helper."""
    data = os.urandom(250_000)
    root, manifest = os.path.join(folder, "taken"), os.path.join(folder, "taken.json")
    os.mkdir(root)
    transfer = offer(ann, conversation, bob.id, "log.bin", data, 100_000, "direct")
    bob.post(f"/api/v1/transfers/{transfer['id']}/accept", {})
    write_manifest(transfer, "upload", manifest)
    own = serve(bob, transfer, "upload", manifest, root, start_helper)
    helper = endpoint_of(ann, transfer)
    other = code_of(lambda: helper.put(0, bytes(100_000)))
    again = [helper.put(1, data[100_000:200_000])["duplicate"] for _ in range(2)]
    early = code_of(helper.finalize)
    before = own.status()["verified"]
    sent, verified = upload_to(helper, transfer, data)
    after = own.status()["verified"]
    with open(os.path.join(root, "log.bin"), "rb") as stored:
        same = stored.read() == data
    state = confirm(bob, transfer)
    ask("end the helper")
    tell("taken", other=other, again=again, early=early, sent=sent, verified=[before, verified, after], same=same, state=state)


def takeover(ann, bob, take):
    """Another instance takes over with the owner's grant, and the listener of the old one ends."""
    # With an empty inbox the listener sends nothing, so only its socket shows the end.
    bob.acknowledge([each["id"] for each in bob.get("/api/v1/inbox/messages?limit=100")["messages"]])
    heard = queue.Queue()
    journal = Journal(os.path.join(folder, "takeover.jsonl"))
    listener = Listener(bob, journal, "socket", lambda *event: heard.put(event))
    listener.start()
    while heard.get(timeout=30)[0] != "open":
        pass
    issued = take(bob)
    other = Agent(base_url, bob.key, bob.enrolled)
    pending = code_of(other.start)
    started = other.start(issued["grant"])
    again = other.start(issued["grant"])
    kind = None
    while kind != "ended":
        kind, value = heard.get(timeout=30)
    value = value.split(":")[0]
    listener.join(timeout=10)
    tell("takeover", pending=pending, generations=[issued["generation"], started["generation"]],
         replaced=started["replaced_session_id"] == issued["fenced_session_id"] == bob.session["id"],
         again=again["id"] == started["id"], listener=[value, listener.is_alive()],
         old=code_of(lambda: bob.get("/api/v1/peers")), new=[each["name"] for each in other.get("/api/v1/peers")["peers"]])
    return other


def refusals(ann, bob, cam, conversation):
    body = {"conversation_id": conversation, "recipient_agent_id": bob.id, "type": "note", "body": "hello"}
    data = json.dumps(body).encode()

    def post(headers, sent=data):
        return ann.node.request("POST", "/api/v1/messages", headers | {"Content-Type": "application/json"}, sent)

    signed = ann.headers("POST", "/api/v1/messages", sha256(data), "a-key-of-its-own")
    post(signed)
    extra = json.dumps({**body, "colour": "red"}).encode()
    faults = []
    try:
        ann.keyed_bytes("/api/v1/messages", extra, "another-key")
    except Refused as refused:
        faults = [refused.code, [each["path"] for each in refused.details["faults"]]]
    tampered = ann.headers("POST", "/api/v1/messages", sha256(data), "a-third-key")
    cam.device = cam.device.replace("linux", "haiku")
    moved = code_of(lambda: cam.get("/api/v1/peers"))
    cam.device = cam.device.replace("0b9d7a54", "1b9d7a54")
    tell("refusals", replayed=code_of(lambda: post(signed)), tampered=code_of(lambda: post(tampered, data + b" ")),
         faults=faults, unknown=code_of(lambda: ann.get("/api/v1/tasks/01890000-0000-7000-8000-000000000000")),
         upgraded=moved, device=code_of(lambda: cam.get("/api/v1/peers")))


def main():
    ann, bob, cam, take = people()
    sessions(ann, bob, cam)
    conversation = ann.conversation_with(bob.id)
    messages(ann, bob, conversation)
    lost(ann, bob, conversation)
    listen(ann, bob, conversation, "long-poll", None)
    listen(ann, bob, conversation, "sse", lambda: ask("let the stream end"))
    listen(ann, bob, conversation, "socket", lambda: ask("restart"))
    tasks(ann, bob)
    cancellation(ann, bob)
    file(ann, bob, conversation)
    served(ann, bob, conversation)
    taken(ann, bob, conversation)
    refusals(ann, bob, cam, conversation)
    for each in (ann, takeover(ann, bob, take)):
        each.post("/api/v1/sessions/current/close", {})
    tell("closed", again=code_of(lambda: ann.get("/api/v1/peers")))


main()
