"""Certificates for the tests of HTTPS, made with the openssl command."""
import subprocess


def openssl(*args, **more):
    done = subprocess.run(["openssl", *map(str, args)], capture_output=True, text=True,
                          timeout=60, check=False, **more)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Authority:
    """Signs pairs; all its files lie in one folder."""

    def __init__(self, folder, name):
        self.folder = folder
        self.name = name
        self.cert = folder / f"{name}.crt"
        self.key = folder / f"{name}.key"
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                "-nodes", "-days", "30", "-subj", f"/CN={name}", "-keyout", self.key, "-out",
                self.cert)

    def pair(self, name, usage="serverAuth", days=30, common=None):
        """(certificate, key), good for localhost; days < 0: it has ended. common: whom it is for, when
        that is not the name by which its files go."""
        cert = self.folder / f"{self.name}-{name}.crt"
        key = self.folder / f"{self.name}-{name}.key"
        request = self.folder / "request"
        more = self.folder / "more"
        more.write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n"
                        f"extendedKeyUsage={usage}\n", encoding="utf-8")
        openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                "-nodes", "-subj", f"/CN={common or name}", "-keyout", key, "-out", request)
        openssl("x509", "-req", "-in", request, "-CA", self.cert, "-CAkey", self.key,
                "-set_serial", abs(hash(name)) % 2**60, "-extfile", more, "-days", days,
                "-out", cert)
        return cert, key
