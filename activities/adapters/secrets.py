"""Values of secrets from the database, opened for an attempt that starts."""

from sqlalchemy import Engine

from activities.adapters.database import database_errors
from activities.ports import PortError
from definitions.errors import PerdureError
from store.engine import reading
from store.sealing import Keys
from store.secrets import reveal


class SqlSecrets:
    """The SecretValues port: the newest version of each secret of a project."""

    def __init__(self, engine: Engine, keys: Keys) -> None:
        self._engine = engine
        self._keys = keys

    def resolve(self, tenant: str, project: str, names: frozenset[str]) -> dict[str, str]:
        """Values by name.

        Raises PortError: permanent (PD-3722) naming every secret that is missing; permanent (PD-3723) naming the key
        that cannot open one; PD-3706 when the database did not answer.
        """
        try:
            with database_errors(), reading(self._engine) as session:
                values = reveal(session, self._keys, tenant, project, names)
        except PerdureError as error:
            raise PortError(error.detail, permanent=True, code=error.code.code) from None
        if missing := sorted(names - values.keys()):
            raise PortError(f"no secret {', '.join(missing)} in {tenant}/{project}", permanent=True, code="PD-3722")
        return values
