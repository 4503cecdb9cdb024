"""Runs beside a cluster: makes folders for claims, and lets pods reach the API server, which listens on loopback only.

`python -m deploy.testcluster.companion FOLDER`; `storage.start` starts it.
"""

import asyncio
import shutil
import sys
import threading
from pathlib import Path
from typing import Any

import httpx

from deploy.testcluster.api import Api, connect
from deploy.testcluster.layout import Layout, load
from deploy.testcluster.storage import PROVISIONER

CLAIMS = "/api/v1/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
RETRY_SECONDS = 0.5
PIECE = 65536


def main(folder: Path) -> None:
    layout = load(folder)
    for path in (CLAIMS, VOLUMES):
        threading.Thread(target=_keep_volumes, args=(layout, path), daemon=True).start()
    asyncio.run(_relay(layout))


def _keep_volumes(layout: Layout, watched: str) -> None:
    """After every change of claims or volumes: give folders to new claims, and take those of deleted claims away."""
    api = connect(layout)
    classes = "/apis/storage.k8s.io/v1/storageclasses"
    for _ in api.changes(watched):
        try:
            ours = {item["metadata"]["name"] for item in api.items(classes) if item["provisioner"] == PROVISIONER}
            if watched == CLAIMS:
                _serve_claims(api, layout.folder / "volumes", ours)
            else:
                _drop_volumes(api, layout.folder / "volumes", ours)
        except httpx.HTTPError as error:
            print(f"{watched}: {error}")


def _serve_claims(api: Api, folder: Path, classes: set[str]) -> None:
    for claim in api.items(CLAIMS):
        spec = claim["spec"]
        if spec.get("storageClassName") in classes and not spec.get("volumeName"):
            path = folder / str(claim["metadata"]["uid"])
            path.mkdir(parents=True, exist_ok=True, mode=0o777)
            api.ensure(VOLUMES, _volume(claim, path))


def _drop_volumes(api: Api, folder: Path, classes: set[str]) -> None:
    for volume in api.items(VOLUMES):
        if volume["spec"].get("storageClassName") in classes and volume["status"].get("phase") == "Released":
            shutil.rmtree(folder / Path(volume["spec"]["hostPath"]["path"]).name, ignore_errors=True)
            api.delete(f"{VOLUMES}/{volume['metadata']['name']}")


def _volume(claim: dict[str, Any], path: Path) -> dict[str, Any]:
    about = claim["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {
            "name": f"pvc-{about['uid']}",
            "annotations": {"pv.kubernetes.io/provisioned-by": PROVISIONER},
        },
        "spec": {
            "capacity": claim["spec"]["resources"]["requests"],
            "accessModes": claim["spec"]["accessModes"],
            "storageClassName": claim["spec"]["storageClassName"],
            "persistentVolumeReclaimPolicy": "Delete",
            "hostPath": {"path": str(path), "type": "Directory"},
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": about["namespace"],
                "name": about["name"],
                "uid": about["uid"],
            },
        },
    }


async def _relay(layout: Layout) -> None:
    """Listen where pods look for the API server, once the cluster's network is there, and pass everything on."""
    port = layout.ports["api"]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            writer.close()
            return
        await asyncio.gather(_pump(reader, there[1]), _pump(there[0], writer))

    while True:
        try:
            server = await asyncio.start_server(serve, layout.host_address, port)
            break
        except OSError:
            await asyncio.sleep(RETRY_SECONDS)
    async with server:
        await server.serve_forever()


async def _pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    try:
        while piece := await source.read(PIECE):
            target.write(piece)
            await target.drain()
    except OSError:
        pass
    finally:
        target.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
