"""A certificate authority for one control plane, with the openssl command."""

import os
import subprocess


def _openssl(*args, **kwargs):
    subprocess.run(["openssl", *args], check=True, capture_output=True, **kwargs)


class Authority:
    """Makes key pairs signed by one CA; files lie in folder as <name>.crt and <name>.key."""

    def __init__(self, folder, name="ca"):
        self.folder = folder
        self.name = name
        os.makedirs(folder, exist_ok=True)
        _openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                 "-nodes", "-days", "30", "-subj", f"/CN={name}",
                 "-keyout", self.key, "-out", self.crt,
                 "-addext", "basicConstraints=critical,CA:TRUE",
                 "-addext", "keyUsage=critical,keyCertSign,cRLSign,digitalSignature")

    @property
    def crt(self):
        return os.path.join(self.folder, f"{self.name}.crt")

    @property
    def key(self):
        return os.path.join(self.folder, f"{self.name}.key")

    def issue(self, name, common_name, organisation=None, hosts=()):
        """A key pair for a client or (with hosts) a server; returns (crt, key)."""
        crt = os.path.join(self.folder, f"{name}.crt")
        key = os.path.join(self.folder, f"{name}.key")
        csr = os.path.join(self.folder, f"{name}.csr")
        subject = (f"/O={organisation}" if organisation else "") + f"/CN={common_name}"
        _openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                 "-subj", subject, "-keyout", key, "-out", csr)
        names = ",".join(("IP:" if host[0].isdigit() else "DNS:") + host for host in hosts)
        extensions = "extendedKeyUsage=clientAuth,serverAuth\n"
        if names:
            extensions += f"subjectAltName={names}\n"
        ext = os.path.join(self.folder, f"{name}.ext")
        with open(ext, "w", encoding="ascii") as file:
            file.write(extensions)
        _openssl("x509", "-req", "-in", csr, "-CA", self.crt, "-CAkey", self.key,
                 "-CAcreateserial", "-days", "30", "-extfile", ext, "-out", crt)
        return crt, key


def signing_key(path):
    """An RSA key pair for service account tokens: path.key and path.pub."""
    _openssl("genrsa", "-out", f"{path}.key", "2048")
    _openssl("rsa", "-in", f"{path}.key", "-pubout", "-out", f"{path}.pub")
    return f"{path}.key", f"{path}.pub"
