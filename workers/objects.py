"""Which object store this deployment has."""

from activities.adapters.objects_folder import FolderObjects
from activities.ports import ObjectStore, PortError
from definitions.errors import PerdureError
from workers.settings import Settings


def open_objects(settings: Settings) -> ObjectStore:
    """The bucket that the settings name, else the folder in the home. Makes no call to a bucket yet.

    Raises PerdureError PD-3414 for settings that name none, PortError for a folder that cannot be used.
    """
    if not settings.object_store:
        return FolderObjects(settings.objects)
    from activities.adapters.s3 import S3Objects, S3Place  # its SDK is large: loaded only where there is a bucket

    try:
        return S3Objects(
            S3Place.parse(
                settings.object_store,
                endpoint=settings.s3_endpoint,
                region=settings.s3_region,
                pod_endpoint=settings.s3_pod_endpoint,
            )
        )
    except PortError as error:
        raise PerdureError(error.code, str(error)) from None
