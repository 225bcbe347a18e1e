-- title: Rows of a table, cell by cell
-- question: How long did all rows take, and how many bytes was that, by form, answer and way?
-- method: One row a cell that ended well. The payload is the bodies of all answers; of an export, what was on the wire.
--   One answer holds all rows where they were gathered, else a thousand. Cells of one replicate and place are pairs.
-- tables: cells
-- methods: table-rows
select
    coalesce(factors->>'node', '') as node,
    min(cell) over (partition by factors->>'node') as node_first,
    factors->>'format' as format,
    case when (factors->>'gathered')::boolean then 'gathered' else 'paged' end as answers,
    factors->>'way' as way,
    replicate,
    cell,
    wire_bytes as payload_bytes,
    requests,
    wall_ns
from 'cells.parquet'
where not warmup and outcome = 'ok' and method = 'table-rows' and not (factors->>'again')::boolean
order by node, format, answers, way, replicate
