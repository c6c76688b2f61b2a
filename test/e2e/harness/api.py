"""A small client of the API server. Not the official one: Debian's is of Kubernetes 1.22, drops fields
that it does not know, and these stories compare what the API server really stores."""

import http.client
import json
import threading
import urllib.parse


class ApiError(OSError):
    """An answer of 400 or above; code is the HTTP status, reason what the Status object says."""

    def __init__(self, method, path, code, text):
        try:
            status = json.loads(text)
        except ValueError:
            status = {}
        self.code = code
        self.reason = status.get("reason", "")
        self.message = status.get("message", text[:500])
        super().__init__(f"{method} {path}: {code} {self.message}")


class Api:
    """One user's view of one API server: a connection for each thread, kept alive."""

    def __init__(self, url, context, token=None, user=None):
        """user: whom to act as, by impersonation, which needs an administrator's credentials."""
        self.host = urllib.parse.urlsplit(url).netloc
        self.context = context
        self.token = token
        self.user = user
        self.local = threading.local()

    def _connection(self):
        if getattr(self.local, "connection", None) is None:
            self.local.connection = http.client.HTTPSConnection(
                self.host, context=self.context, timeout=30)
        return self.local.connection

    def _exchange(self, method, path, data, headers):
        fresh = getattr(self.local, "connection", None) is None
        connection = self._connection()
        try:
            connection.request(method, path, data, headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            self.local.connection = None
            if fresh:
                raise OSError(f"{method} {path}: {error!r}") from error
            return None  # the server closed an idle connection

    def request(self, method, path, body=None, content_type="application/json", raw=False):
        data = None if body is None else (
            body if isinstance(body, bytes) else json.dumps(body).encode())
        headers = {"Content-Type": content_type, "Accept": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        if self.user:
            headers["Impersonate-User"] = self.user
        answer = (self._exchange(method, path, data, headers)
                  or self._exchange(method, path, data, headers))
        if answer is None:
            raise OSError(f"{method} {path}: no answer")
        code, text = answer
        if code >= 400:
            raise ApiError(method, path, code, text)
        return text if raw else json.loads(text)

    def get(self, path, raw=False):
        return self.request("GET", path, raw=raw)

    def post(self, path, body):
        return self.request("POST", path, body)

    def put(self, path, body):
        return self.request("PUT", path, body)

    def patch(self, path, body, content_type="application/merge-patch+json"):
        return self.request("PATCH", path, body, content_type)

    def create(self, manifest, dry_run=False):
        path = collection_path(manifest["kind"], manifest["metadata"].get("namespace"))
        return self.post(path + ("?dryRun=All&fieldValidation=Strict" if dry_run else ""), manifest)

    def delete(self, path, grace_seconds=None, propagation=None):
        body = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if grace_seconds is not None:
            body["gracePeriodSeconds"] = grace_seconds
        if propagation is not None:
            body["propagationPolicy"] = propagation
        return self.request("DELETE", path, body)

    def watch(self, path, on_event, stop):
        """Calls on_event(type, object) for each event until stop() after one, or the end."""
        connection = http.client.HTTPSConnection(self.host, context=self.context, timeout=60)
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        try:
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            for line in answer:
                event = json.loads(line)
                on_event(event["type"], event["object"])
                if stop():
                    return
        finally:
            connection.close()


# Where objects of a kind lie; what deploy/ has and the stories make.
RESOURCES = {
    "Namespace": ("/api/v1", "namespaces", False),
    "Node": ("/api/v1", "nodes", False),
    "Pod": ("/api/v1", "pods", True),
    "Service": ("/api/v1", "services", True),
    "ServiceAccount": ("/api/v1", "serviceaccounts", True),
    "Secret": ("/api/v1", "secrets", True),
    "ResourceQuota": ("/api/v1", "resourcequotas", True),
    "LimitRange": ("/api/v1", "limitranges", True),
    "ConfigMap": ("/api/v1", "configmaps", True),
    "Job": ("/apis/batch/v1", "jobs", True),
    "CronJob": ("/apis/batch/v1", "cronjobs", True),
    "Deployment": ("/apis/apps/v1", "deployments", True),
    "DaemonSet": ("/apis/apps/v1", "daemonsets", True),
    "PodDisruptionBudget": ("/apis/policy/v1", "poddisruptionbudgets", True),
    "NetworkPolicy": ("/apis/networking.k8s.io/v1", "networkpolicies", True),
    "PriorityClass": ("/apis/scheduling.k8s.io/v1", "priorityclasses", False),
    "RuntimeClass": ("/apis/node.k8s.io/v1", "runtimeclasses", False),
    "ClusterRole": ("/apis/rbac.authorization.k8s.io/v1", "clusterroles", False),
    "ClusterRoleBinding": ("/apis/rbac.authorization.k8s.io/v1", "clusterrolebindings", False),
    "Role": ("/apis/rbac.authorization.k8s.io/v1", "roles", True),
    "RoleBinding": ("/apis/rbac.authorization.k8s.io/v1", "rolebindings", True),
    "APIService": ("/apis/apiregistration.k8s.io/v1", "apiservices", False),
    "MutatingAdmissionPolicy": (
        "/apis/admissionregistration.k8s.io/v1", "mutatingadmissionpolicies", False),
    "MutatingAdmissionPolicyBinding": (
        "/apis/admissionregistration.k8s.io/v1", "mutatingadmissionpolicybindings", False),
    "MutatingWebhookConfiguration": (
        "/apis/admissionregistration.k8s.io/v1", "mutatingwebhookconfigurations", False),
    "ValidatingWebhookConfiguration": (
        "/apis/admissionregistration.k8s.io/v1", "validatingwebhookconfigurations", False),
    "ValidatingAdmissionPolicy": (
        "/apis/admissionregistration.k8s.io/v1", "validatingadmissionpolicies", False),
    "ValidatingAdmissionPolicyBinding": (
        "/apis/admissionregistration.k8s.io/v1", "validatingadmissionpolicybindings", False),
}


def collection_path(kind, namespace=None):
    prefix, plural, namespaced = RESOURCES[kind]
    where = f"/namespaces/{namespace or 'default'}" if namespaced else ""
    return f"{prefix}{where}/{plural}"


def object_path(manifest):
    metadata = manifest["metadata"]
    return f"{collection_path(manifest['kind'], metadata.get('namespace'))}/{metadata['name']}"
