"""What deploy/ makes: the chart rendered by helm, and the plain manifests."""

import copy
import glob
import os
import re
import subprocess

import yaml

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
CHART = os.path.join(ROOT, "deploy", "chart", "sliced")
MANIFESTS = os.path.join(ROOT, "deploy", "manifests")
NAMESPACE = "sliced-system"
SERVICE = f"sliced.{NAMESPACE}.svc"

# libyaml's, where PyYAML has it: the chart is long
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def pinned():
    """Kubernetes' release of each minor version that test/e2e/build-tools builds, newest first."""
    found = {}
    for path in glob.glob(os.path.join(ROOT, "test", "e2e", "controlplane", "v*.mod")):
        with open(path, encoding="ascii") as file:
            release = re.search(r"^\tk8s\.io/kubernetes v(.*)$", file.read(), re.M)[1]
        found[release.rpartition(".")[0]] = release
    return dict(sorted(found.items(), key=lambda each: number(each[0]), reverse=True))


def number(minor):
    """36 of "1.36"."""
    return int(minor.split(".")[1])


def has_policies(minor):
    """Does such a cluster serve admissionregistration.k8s.io/v1/MutatingAdmissionPolicy, for which the
    chart looks?"""
    return number(minor) >= 36


RELEASES = pinned()
NEWEST = next(iter(RELEASES))


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

    def template(self, values=None, minor=NEWEST, check=True):
        """As in a cluster of that version, which need not be one that is built."""
        served = ["--api-versions=admissionregistration.k8s.io/v1/MutatingAdmissionPolicy"]
        return self.run("template", "sliced", CHART, "--namespace", NAMESPACE, "--kube-version",
                        RELEASES.get(minor, f"{minor}.0"), *(served if has_policies(minor) else []),
                        "-f", "-", text=yaml.safe_dump(values or {}), check=check)

    def objects(self, values=None, minor=NEWEST, again=False):
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
    for name in ["guard", "guard-devices", "webhook", *(["policy"] if has_policies(minor) else [])]:
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
