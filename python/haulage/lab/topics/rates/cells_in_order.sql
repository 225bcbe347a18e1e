-- title: Every cell in the order it was run
-- question: Did the order of running, or the time of day, have a part in the result?
-- method: One row a cell, warm-ups included and marked. The rate is goodput: payload that arrived and was proven, over wall time.
-- tables: cells
select
    cell,
    replicate,
    treatment,
    method,
    direction,
    size_bytes,
    files,
    warmup,
    began_unix_ns - min(began_unix_ns) over () as began_ns,
    wall_ns,
    idle_before_ns,
    bytes,
    wire_bytes,
    requests,
    retries,
    lanes,
    8e9 * bytes / nullif(wall_ns, 0) as rate_bits_per_second,
    wall_ns / nullif(files, 0) as wall_per_file_ns,
    cpu_ns / nullif(wall_ns, 0) as cpu_share_of_one_core,
    chosen,
    outcome,
    cause
from 'cells.parquet'
order by cell
