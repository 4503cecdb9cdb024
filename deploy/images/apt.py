"""Debian packages for the images: what is needed for some names, fetched and verified by the machine's own apt.

apt works in a folder of ours, with no package installed in it, so the machine's own packages neither matter nor change,
and root is not needed. The machine's sources say where Debian 12 is; everything else they list is left aside.
"""

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from deploy.images.machine import Machine, Refused

RELEASE = "bookworm"
# An image is unpacked, not installed: nothing in it runs package scripts, and nobody compiles in it.
NOT_NEEDED = ("debconf", "dpkg", "openssl", "gcc")
PREFERENCES = f"""\
Package: *
Pin: release o=Debian,n={RELEASE}*
Pin-Priority: 500

Package: *
Pin: release o=*
Pin-Priority: -1
"""


@dataclass(frozen=True)
class Package:
    file: Path
    sha256: str


class Apt:
    def __init__(self, folder: Path, machine: Machine) -> None:
        self._folder = folder
        self._machine = machine

    def with_dependencies(self, names: Sequence[str], *, upgrade: bool = False) -> list[Package]:
        """These packages and all they depend on, as files on disk.

        Newer ones are taken only with `upgrade`, or when what our lists name is served no more. Raises Refused.
        """
        if upgrade:
            self._update()
        return self._fetch(["install", "--yes", *names])

    def alone(self, names: Sequence[str]) -> list[Package]:
        """These packages without what they depend on. Raises Refused."""
        return self._fetch(["download", *names])

    def _fetch(self, request: list[str]) -> list[Package]:
        self._prepare()
        if not any(self._lists.glob("*_Packages*")):
            self._update()
        wanted = self._resolve(request)
        if not all(package.file.exists() for package in wanted):
            wanted = self._download(request, wanted)
        for package in wanted:
            with package.file.open("rb") as content:
                if hashlib.file_digest(content, "sha256").hexdigest() != package.sha256:
                    package.file.unlink()
                    raise Refused(
                        f"{package.file} was not what the mirror's signed list says, and is removed: try again"
                    )
        return wanted

    @property
    def _lists(self) -> Path:
        return self._folder / "state" / "lists"

    @property
    def _archives(self) -> Path:
        return self._folder / "cache" / "archives"

    @property
    def _nothing(self) -> Path:
        return self._folder / "cache" / "nothing"

    def _prepare(self) -> None:
        if shutil.which("apt-get") is None:
            raise Refused("images are made of Debian 12's packages, and this machine has no apt-get")
        for folder in (self._lists, self._archives, self._nothing):
            (folder / "partial").mkdir(parents=True, exist_ok=True)
        (self._folder / "preferences").write_text(PREFERENCES)
        (self._folder / "status").write_text("".join(map(self._installed, NOT_NEEDED)))

    def _installed(self, name: str) -> str:
        return (
            f"Package: {name}\nStatus: install ok installed\nVersion: 9999\nArchitecture: {self._machine.debian}\n"
            f"Multi-Arch: foreign\nMaintainer: none\nDescription: not needed\n\n"
        )

    def _update(self) -> None:
        self._run("update")

    def _resolve(self, request: list[str]) -> list[Package]:
        # Files that are there already are not printed; so this is asked as if none were.
        said = self._run(*request, "--print-uris", archives=self._nothing)
        found = re.findall(r"^'\S+' (\S+) \d+ SHA256:([0-9a-f]{64})$", said, re.M)
        if not found:
            raise Refused(f"apt-get {' '.join(request)} names no files:\n{said[-2000:]}")
        return sorted((Package(self._archives / name, digest) for name, digest in found), key=lambda one: one.file.name)

    def _download(self, request: list[str], wanted: list[Package]) -> list[Package]:
        try:
            self._run(*request, "--download-only")
        except Refused:
            # A package that was superseded is no longer served: our lists are older than the mirror.
            self._update()
            wanted = self._resolve(request)
            self._run(*request, "--download-only")
        return wanted

    def _run(self, *command: str, archives: Path | None = None) -> str:
        archives = archives or self._archives
        options = {
            "Dir::State": self._folder / "state",
            "Dir::State::status": self._folder / "status",
            "Dir::Cache": self._folder / "cache",
            "Dir::Cache::archives": archives,
            "Dir::Etc::preferences": self._folder / "preferences",
            "Dir::Etc::preferencesparts": "/dev/null",
            "APT::Architecture": self._machine.debian,
            "APT::Architectures": self._machine.debian,
            "APT::Install-Recommends": "false",
            "APT::Sandbox::User": "",
            "Acquire::ForceHash": "sha256",
            "Acquire::Languages": "none",
            "Acquire::Retries": "3",
        }
        set_options = [f"-o{name}={value}" for name, value in options.items()]
        done = subprocess.run(
            ["apt-get", "-q", *set_options, *command],
            cwd=archives,  # where `download` puts its files
            env={**os.environ, "LC_ALL": "C.UTF-8"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            hint = f"the machine's sources must have Debian 12 ({RELEASE})"
            raise Refused(f"apt-get {command[0]} failed; {hint}:\n{done.stdout[-2000:]}")
        return done.stdout
