"""Run by the image's interpreter: compiles the modules of a folder in place. Usage: FOLDER INSTALLED_AT [ARCHIVE]

Compiled files are never checked against their source: layers do not change, and their times mean nothing. With ARCHIVE
the compiled modules are also written to a zip, from which the interpreter imports; here, because this compressor is the
image's and so the same everywhere.
"""

import compileall
import sys
import zipfile
from pathlib import Path
from py_compile import PycInvalidationMode

TIME = (2000, 1, 1, 0, 0, 0)


def main(folder: str, installed_at: str, archive: str = "") -> None:
    # What does not compile is another version's or a test's, and stays as it is.
    compileall.compile_dir(
        folder,
        maxlevels=100,
        quiet=2,
        stripdir=folder,
        prependdir=installed_at,
        invalidation_mode=PycInvalidationMode.UNCHECKED_HASH,
    )
    if archive:
        write_archive(Path(folder), Path(archive))


def write_archive(folder: Path, archive: Path) -> None:
    with zipfile.ZipFile(archive, "w") as target:
        for compiled in sorted(folder.rglob("__pycache__/*.pyc")):
            # `a/__pycache__/b.cpython-311.pyc` is found in a zip as `a/b.pyc`.
            name = compiled.parent.parent.relative_to(folder) / (compiled.name.split(".")[0] + ".pyc")
            member = zipfile.ZipInfo(name.as_posix(), TIME)
            member.compress_type = zipfile.ZIP_DEFLATED
            target.writestr(member, compiled.read_bytes(), compresslevel=9)


if __name__ == "__main__":
    main(*sys.argv[1:])
