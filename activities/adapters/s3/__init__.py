"""The object store of a production deployment: a bucket, or a part of one, over the S3 protocol."""

from activities.adapters.s3.connection import S3Place, connect
from activities.adapters.s3.store import S3Objects

__all__ = ["S3Objects", "S3Place", "connect"]
