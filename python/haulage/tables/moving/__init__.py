"""Export, import, copy and back up tables, and verify that two hold the same rows."""

from haulage.lazy import importing
from haulage.tables.moving.results import (
    Compared as Compared,
    Difference as Difference,
    Exported as Exported,
    Imported as Imported,
    Progress as Progress,
    index_table as index_table,
)

# As `typing.TYPE_CHECKING`: what needs Arrow is imported when it is first used, so that help comes at once.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from haulage.tables.moving.operations import (
        backup as backup,
        copy_table as copy_table,
        export_table as export_table,
        import_table as import_table,
        verify as verify,
    )

__all__ = [
    "Compared",
    "Difference",
    "Exported",
    "Imported",
    "Progress",
    "backup",
    "copy_table",
    "export_table",
    "import_table",
    "index_table",
    "verify",
]
__getattr__ = importing(__name__, {"haulage.tables.moving.operations": " ".join(__all__)})
