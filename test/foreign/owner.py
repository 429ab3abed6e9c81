"""The owner's API: section 15 of docs/protocol.md."""
import json
import re

from wire import Node


class Owner:
    """A sign-in by a one-time link. The cookie and the Origin go with every request."""

    def __init__(self, base_url, link_token):
        self.node = Node(base_url)
        _, health = self.node.request("GET", "/api/health", {})
        self.origin = json.loads(health)["portal_origin"]
        self.cookie = None
        self.post("/api/admin/session", {"link_token": link_token})

    def headers(self):
        return {"Cookie": self.cookie} if self.cookie else {}

    def get(self, target):
        return json.loads(self.node.request("GET", target, self.headers())[1])

    def post(self, target, body):
        headers = self.headers() | {"Origin": self.origin, "Content-Type": "application/json"}
        answered, data = self.node.request("POST", target, headers, json.dumps(body).encode())
        if answered["Set-Cookie"]:
            self.cookie = answered["Set-Cookie"].split(";")[0]
        return json.loads(data)

    def project(self, name):
        return self.post("/api/admin/projects", {"name": name})["id"]

    def agent(self, project_id, name):
        return self.post(f"/api/admin/projects/{project_id}/agents", {"name": name})["agent"]["id"]

    def takeover(self, project_id, agent_id):
        return self.post(f"/api/admin/projects/{project_id}/agents/{agent_id}/takeover", {})

    def code(self, project_id, agent_id, binding="key"):
        """Returns the code, which is on a separate line of the prompt, between the two lines with CODE."""
        issued = self.post(f"/api/admin/projects/{project_id}/agents/{agent_id}/enrollment", {"binding": binding})
        return re.search(r"<<'CODE'\n(.+)\nCODE\n", issued["prompt"]).group(1)
