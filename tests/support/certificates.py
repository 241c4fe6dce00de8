"""Certificates for tests, made by `openssl`: an authority, and whom it signs."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Certificate:
    cert: Path
    key: Path


class Authority:
    """One that nobody knows but the test."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._own = Certificate(folder / "ca.pem", folder / "ca.key")
        subject = ("-subj", "/CN=an authority of tests")
        self._make("req", "-x509", *self._new(self._own), "-out", str(self.file), *subject)

    @property
    def file(self) -> Path:
        return self._own.cert

    def sign(self, name: str) -> Certificate:
        """The certificate of a server on 127.0.0.1, or of a client of this name."""
        made = Certificate(self._folder / f"{name}.pem", self._folder / f"{name}.key")
        asked = self._folder / f"{name}.csr"
        self._make("req", *self._new(made), "-out", str(asked), "-subj", f"/CN={name}")
        more = self._folder / f"{name}.ext"
        more.write_text("subjectAltName = IP:127.0.0.1, DNS:localhost\n")
        signing = ("-CA", str(self.file), "-CAkey", str(self._own.key), "-CAcreateserial")
        result = ("-out", str(made.cert), "-days", "2", "-extfile", str(more))
        self._make("x509", "-req", "-in", str(asked), *signing, *result)
        return made

    def _new(self, made: Certificate) -> list[str]:
        curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
        return [*curve, "-nodes", "-keyout", str(made.key)]

    def _make(self, *command: str) -> None:
        subprocess.run(["openssl", *command], check=True, capture_output=True)
