"""What deploy/ makes: the chart rendered by helm, and the plain manifests."""

import copy
import os
import subprocess

import yaml

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
CHART = os.path.join(ROOT, "deploy", "chart", "sliced")
MANIFESTS = os.path.join(ROOT, "deploy", "manifests")
NAMESPACE = "sliced-system"
SERVICE = f"sliced.{NAMESPACE}.svc"

# libyaml's, where PyYAML has it: the chart is long
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# Kubernetes' release of each minor version, as the tools' build has it
RELEASES = {"1.36": "1.36.3", "1.31": "1.31.0"}
# What helm would find in such a cluster, of what the chart asks for
APIS = {"1.36": ["admissionregistration.k8s.io/v1/MutatingAdmissionPolicy"], "1.31": []}


class Helm:
    """The helm program; errors are AssertionError with what helm said."""

    def __init__(self, tools, kubeconfig=None):
        self.program = os.path.join(tools, "helm")
        self.kubeconfig = kubeconfig
        self.made = {}

    def run(self, *args, text=None, check=True):
        env = {**os.environ, "HELM_CACHE_HOME": "/nonexistent", "HELM_DATA_HOME": "/nonexistent",
               "HELM_CONFIG_HOME": "/nonexistent"}
        if self.kubeconfig:
            env["KUBECONFIG"] = self.kubeconfig
        done = subprocess.run([self.program, *args], input=text, capture_output=True, text=True,
                              env=env, check=False)
        assert not check or done.returncode == 0, f"helm {' '.join(args)}:\n{done.stderr}"
        return done.stdout if check else (done.returncode, done.stdout + done.stderr)

    def template(self, values=None, minor="1.36", check=True):
        return self.run("template", "sliced", CHART, "--namespace", NAMESPACE, "--kube-version",
                        RELEASES[minor], *(f"--api-versions={each}" for each in APIS[minor]),
                        "-f", "-", text=yaml.safe_dump(values or {}), check=check)

    def objects(self, values=None, minor="1.36", again=False):
        """The objects that the chart makes, each a dict. The same values are rendered once, certificates
        and all, unless again."""
        key = (yaml.safe_dump(values or {}), minor)
        if again or key not in self.made:
            text = self.template(values, minor)
            self.made[key] = [each for each in yaml.load_all(text, LOADER) if each]
        return copy.deepcopy(self.made[key])


def one(objects, kind, name):
    """The object of that kind and name."""
    found = [each for each in objects
             if each["kind"] == kind and each["metadata"]["name"] == name]
    assert len(found) == 1, f"{len(found)} objects {kind}/{name}"
    return found[0]


def config_of(objects, name):
    """What a ConfigMap of the chart holds: the configuration of sliced, or of kube-scheduler."""
    return yaml.safe_load(one(objects, "ConfigMap", name)["data"]["config.yaml"])


def gate_manifests(minor):
    """The objects of deploy/manifests/gate that such a cluster takes, by the name of their file."""
    found = {}
    for name in ["guard", "guard-devices", "webhook", *(["policy"] if APIS[minor] else [])]:
        with open(os.path.join(MANIFESTS, "gate", f"{name}.yaml"), encoding="utf-8") as file:
            found[name] = [each for each in yaml.safe_load_all(file) if each]
    return found


def manifests():
    """The objects of deploy/manifests, the namespace first."""
    found = []
    for name in ("namespace", "sliced", "scheduler"):
        with open(os.path.join(MANIFESTS, f"{name}.yaml"), encoding="utf-8") as file:
            found += [each for each in yaml.safe_load_all(file) if each]
    return found
