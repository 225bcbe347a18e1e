"""Export, import, copy and back up tables, and verify that two hold the same rows."""

from haulage.tables.moving.operations import (
    backup as backup,
    copy_table as copy_table,
    export_table as export_table,
    import_table as import_table,
    verify as verify,
)
from haulage.tables.moving.results import (
    Compared as Compared,
    Difference as Difference,
    Exported as Exported,
    Imported as Imported,
    Progress as Progress,
    index_table as index_table,
)
