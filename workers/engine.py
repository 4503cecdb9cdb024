"""How every process of the control plane reaches the workflow engine: address, identity, sealed payloads."""

from pathlib import Path

from temporalio.client import Client
from temporalio.runtime import Runtime
from temporalio.service import TLSConfig

from definitions.errors import PerdureError
from store.sealing import Keys
from workers.payloads import data_converter, load_payload_keys
from workers.settings import Settings


async def connect_engine(settings: Settings, *, lazy: bool = False, runtime: Runtime | None = None) -> Client:
    """A client of the deployment's namespace. `lazy` connects at the first call.

    Raises PerdureError PD-4100 or PD-4101 for files that cannot be used, RuntimeError when there is no connection.
    """
    return await Client.connect(
        settings.engine_address,
        namespace=settings.temporal_namespace,
        data_converter=data_converter(payload_keys(settings)),
        tls=tls(settings),
        api_key=_text(settings.temporal_api_key_file) if settings.temporal_api_key_file else None,
        lazy=lazy,
        runtime=runtime,
    )


def payload_keys(settings: Settings) -> Keys | None:
    """What seals payloads; None when nothing does. Raises PerdureError PD-4101."""
    return load_payload_keys(settings.payload_keys_file) if settings.payload_keys_file else None


def tls(settings: Settings) -> TLSConfig | bool:
    """What the settings say of TLS; False when nothing asks for it. Raises PerdureError PD-4100."""
    if bool(settings.temporal_tls_cert) != bool(settings.temporal_tls_key):
        raise PerdureError("PD-4100", "of PERDURE_TEMPORAL_TLS_CERT and PERDURE_TEMPORAL_TLS_KEY only one is set")
    files = (settings.temporal_tls_ca, settings.temporal_tls_cert, settings.temporal_tls_key)
    if not (settings.temporal_tls or settings.temporal_api_key_file or settings.temporal_tls_server_name or any(files)):
        return False
    authorities, certificate, key = (_bytes(file) if file else None for file in files)
    return TLSConfig(
        server_root_ca_cert=authorities,
        domain=settings.temporal_tls_server_name,
        client_cert=certificate,
        client_private_key=key,
    )


def _text(file: Path) -> str:
    return _bytes(file).decode(errors="replace").strip()


def _bytes(file: Path) -> bytes:
    try:
        content = file.read_bytes()
    except OSError as error:
        raise PerdureError("PD-4100", f"{file} cannot be read: {error.strerror}", where=str(file)) from None
    if not content.strip():
        raise PerdureError("PD-4100", f"{file} is empty", where=str(file))
    return content
