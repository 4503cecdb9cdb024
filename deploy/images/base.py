"""The layer both images stand on: Debian 12 with its Python 3.11, unpacked from packages and not installed.

Package scripts do not run, so what they would do and we need is done here: the account files, certificates in one file,
`awk`, and the folders that lead into /usr.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from deploy.images import deb
from deploy.images.apt import Package
from deploy.images.interpreter import VERSION, Interpreter
from deploy.images.machine import Machine
from deploy.images.tree import File, Folder, Link, Tree

PACKAGES = (
    "base-files",
    "base-passwd",
    "bash",
    "ca-certificates",
    "coreutils",
    "dash",
    "debianutils",
    "findutils",
    "grep",
    "gzip",
    "hostname",
    "libc-bin",
    "libstdc++6",  # wheels are built against it and may not bring it
    "mawk",
    "ncurses-base",
    "netbase",
    "python3",
    "sed",
    "tar",
    "tzdata",
)
USER = "perdure"
USER_ID = 1000
HOME = "home/perdure"
# Documentation goes, licences stay; so go start scripts, and a link to what an installation would choose.
LEFT_OUT = re.compile(
    r"usr/share/(doc/(?!.*/copyright$|[^/]+$)|man/|info/|locale/|lintian/|menu/|doc-base/|bug/|pixmaps/|applications/)"
    r"|usr/lib/valgrind/|usr/share/binfmts/|etc/init\.d/|etc/update-motd\.d/|etc/rmt$"
)
STANDARD = f"usr/lib/python{VERSION}"
CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"


def build(packages: Sequence[Package], machine: Machine) -> Tree:
    """The layer's files, without compiled modules."""
    tree = Tree()
    for package in packages:
        for path, entry in deb.entries(package.file):
            # A folder that several packages have keeps the mode of the first: base-files comes first and knows.
            if not LEFT_OUT.match(path) and not (isinstance(entry, Folder) and path in tree):
                tree[path] = entry
    _lead_into_usr(tree, machine)
    _finish(tree)
    _accounts(tree)
    _write_status(tree, packages)
    return tree


def with_compiled(tree: Tree, scratch: Path, interpreter: Interpreter) -> Tree:
    """The layer's files and the compiled forms of its modules. The new tree reads those from `scratch`."""
    sources, whole = Tree(), Tree()
    for path, entry in tree.under(""):
        whole[path] = entry
        if path.startswith(f"{STANDARD}/") and path.endswith(".py"):
            sources[path.removeprefix(f"{STANDARD}/")] = entry
    folder = scratch / "standard-library"
    sources.extract(folder)
    interpreter.compile(folder, f"/{STANDARD}")
    whole.take(folder, STANDARD)
    return whole


def _lead_into_usr(tree: Tree, machine: Machine) -> None:
    for folder in ("bin", "sbin", "lib"):
        tree[folder] = Link(f"usr/{folder}")
    if any(True for _ in tree.under("usr/lib64")):
        tree["lib64"] = Link("usr/lib64")
        tree[f"usr/lib64/{machine.loader}"] = Link(f"../lib/{machine.gnu}/{machine.loader}")


def _finish(tree: Tree) -> None:
    tree["tmp"] = tree["var/tmp"] = Folder(0o1777)
    tree["usr/bin/awk"] = Link("mawk")
    tree["usr/bin/python"] = Link("python3")  # what most commands of jobs are called with
    tree["etc/profile"] = tree["usr/share/base-files/profile"]
    tree["etc/nsswitch.conf"] = tree["usr/share/libc-bin/nsswitch.conf"]
    tree["etc/localtime"] = Link("/usr/share/zoneinfo/Etc/UTC")
    certificates = [entry.read() for _, entry in tree.under("usr/share/ca-certificates") if isinstance(entry, File)]
    tree[CERTIFICATES] = File(b"".join(certificate.rstrip() + b"\n" for certificate in certificates))
    # Where this OpenSSL looks when nobody says where.
    tree["usr/lib/ssl/cert.pem"] = Link(f"/{CERTIFICATES}")
    tree["usr/lib/ssl/certs"] = Link("/etc/ssl/certs")


def _accounts(tree: Tree) -> None:
    passwd = tree.file("usr/share/base-passwd/passwd.master").decode().replace(":*:", ":x:")
    group = tree.file("usr/share/base-passwd/group.master").decode().replace(":*:", ":x:")
    passwd += f"{USER}:x:{USER_ID}:{USER_ID}::/{HOME}:/bin/bash\n"
    tree["etc/passwd"] = File(passwd.encode())
    tree["etc/group"] = File(f"{group}{USER}:x:{USER_ID}:\n".encode())
    tree[HOME] = Folder(0o755, USER_ID)


def _write_status(tree: Tree, packages: Sequence[Package]) -> None:
    """The package manager's database, by which scanners for known weaknesses learn what is in here."""
    blocks = []
    for package in packages:
        name, rest = deb.control(package.file).split("\n", 1)
        blocks.append(f"{name}\nStatus: install ok installed\n{rest}")
    tree["var/lib/dpkg/status"] = File("\n".join(blocks).encode())
