"""`make pods-report`: which ends of attempts a real kubelet brings about here, and what is made of its words."""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import NoReturn

from rich.console import Console
from rich.table import Table

from deploy.testcluster.progress import to_stderr
from tests.pods_report.report import Row, rows
from tests.pods_report.stage import staged
from tests.support.cluster import running_cluster
from tests.support.images import built_images, load_images
from tests.support.minio import running_minio


def main() -> NoReturn:
    parser = argparse.ArgumentParser(prog="python -m tests.pods_report", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    found = _found()
    print(json.dumps([row.model_dump(mode="json") for row in found], indent=2)) if options.json else _show(found)
    sys.exit(0 if all(row.failure is not None for row in found) else 1)


def _found() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="perdure-report-") as name, running_cluster(real=True) as cluster:
        folder = Path(name)
        images = load_images(cluster, built_images(folder / "images"))
        with running_minio(folder / "data", cluster.host_address) as store:
            os.environ.update(store.environment)
            with staged(cluster, store, images) as stage:
                return rows(stage, to_stderr)


def _show(found: list[Row]) -> None:
    table = Table("end", "class", "source", "written by", "words", title="Ends of attempts", title_justify="left")
    for row in found:
        table.add_row(row.name, str(row.failure or "-"), row.source, ", ".join(row.writers), row.words)
    Console(width=None if sys.stdout.isatty() else 200).print(table, markup=False)


if __name__ == "__main__":
    main()
